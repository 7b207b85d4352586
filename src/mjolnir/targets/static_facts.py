"""A kernel's facts without a device: two confined workers and Triton's own programs, put together to a report."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from mjolnir.core.gpu_arch import GpuArch
from mjolnir.core.lengths import length_label
from mjolnir.core.model import Crashed
from mjolnir.core.static_facts import Argument, Call, Launch, MachineCode, StaticFailure, StaticReport, Toolchain
from mjolnir.core.static_label import label_line
from mjolnir.core.static_report import make_report
from mjolnir.core.workload import PagedDecode
from mjolnir.sandbox.answer import AskedWorker, NoAnswer, ask_worker
from mjolnir.targets.protocol import KernelSource, Observe, Progress, StaticFacts
from mjolnir.targets.static_answer import BadAnswer, CaptureAnswer, CaptureRun, LaunchAnswer, read_capture
from mjolnir.targets.static_compile import CompilerError, compile_unit
from mjolnir.targets.static_tools import GpuTools, find_tools, resolve_arch
from mjolnir.targets.static_traffic import TrafficByCall, TrafficQuestion

_WORKER = "mjolnir.worker.capture"
_LOG_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticRequest:
    """What is asked. `bandwidth_gbps` 0: the device table's. `memory_bytes` bounds a worker, `time_limit_s` all of it.

    NotImplementedError for a q dtype other than the workload's is a note, not a failure, when another one is taken.
    """

    arch: str
    workload: PagedDecode
    lengths: tuple[int, ...]
    q_dtypes: tuple[str, ...]
    bandwidth_gbps: float = 0.0
    memory_bytes: int = 8 << 30
    time_limit_s: float = 300.0

    def asked(self) -> list[tuple[str, int]]:
        """(q dtype, L) of every call, in order."""
        return [(q_dtype, length) for q_dtype in self.q_dtypes for length in self.lengths]


def static_facts(
    kernel: KernelSource, request: StaticRequest, observe: Observe, *, trusts_cache: bool = True
) -> StaticReport | StaticFailure:
    """The facts of `kernel`, or why it has none. `trusts_cache`: False where they decide something, because the user's
    cache folder is open to whoever is judged. Raises EnvironmentFault, and UsageFault for an unknown arch."""
    tools = find_tools()
    arch = resolve_arch(request.arch, tools)
    deadline = time.monotonic() + request.time_limit_s
    question = TrafficQuestion(kernel.blob, _worker_request(request, arch, tools), tools, trusts_cache=trusts_cache)
    observe(Progress(stage="launches", detail=kernel.name, done=0, total=3))
    with contextlib.ExitStack() as stack:
        capturing = stack.enter_context(_ask("capture", kernel, request, arch, tools))
        if question.remembered is None:  # both work at a time, on a core each
            question.worker = stack.enter_context(_ask("traffic", kernel, request, arch, tools))
        capture = _captured(capturing, request, tools, deadline)
        if isinstance(capture, StaticFailure):
            return capture
        observe(Progress(stage="machine code", detail=kernel.name, done=1, total=3))
        try:
            units = capture.units.items()
            codes = {name: compile_unit(unit, arch, tools, trusts_cache=trusts_cache) for name, unit in units}
        except CompilerError as e:
            return StaticFailure(kind="compiler", detail=str(e), log=e.log, toolchain=_toolchain(capture, tools))
        observe(Progress(stage="bytes of K and V", detail=kernel.name, done=2, total=3))
        runs = [run for run in capture.runs if run.launches]
        traffic = question.answer(runs, capture.units, request.workload, request.asked(), deadline)
    notes = [f"q of {run.q_dtype}: {run.failure.detail}" for run in capture.runs if run.failure is not None]
    return make_report(
        arch,
        _toolchain(capture, tools),
        request.workload,
        [_call(run, codes, traffic) for run in runs],
        bandwidth_gbps=request.bandwidth_gbps,
        notes=[*notes, *question.notes],
    )


def facts_before_device(kernel: KernelSource, request: StaticRequest, observe: Observe) -> StaticFacts:
    """The step that an evaluation on a GPU target begins with (targets/protocol.py, StaticTarget).

    The hash compares only with that of a request over the same arch, lengths and dtypes. Only what a device would
    refuse too is a failure; host code that cannot run without one leaves no facts, and the device decides. Raises as
    `static_facts`.
    """
    found = static_facts(kernel, request, observe, trusts_cache=False)
    if isinstance(found, StaticFailure):
        is_final = found.kind in ("compiler", "resources")
        failure = Crashed(stage="static", detail=found.detail, log=found.log) if is_final else None
        label = f"STATIC (no GPU): no facts for {request.arch}: {found.detail}"
        return StaticFacts(arch=request.arch, label=label, failure=failure)
    return StaticFacts(arch=request.arch, code_hash=found.code_hash, label=label_line(found))


@contextlib.contextmanager
def _ask(
    mode: str, kernel: KernelSource, request: StaticRequest, arch: GpuArch, tools: GpuTools
) -> Iterator[AskedWorker]:
    inputs_bytes = max(request.workload.kv_bytes(length) for length in request.lengths)
    with ask_worker(
        _WORKER,
        {"mode": mode},
        kernel=kernel.blob,
        request=_worker_request(request, arch, tools),
        memory_bytes=request.memory_bytes + 2 * inputs_bytes,
    ) as worker:
        yield worker


def _worker_request(request: StaticRequest, arch: GpuArch, tools: GpuTools) -> dict[str, object]:
    return {
        "device": arch.driver_answers(),
        "ptxas_versions": dict(tools.releases),
        "workload": asdict(request.workload),
        "q_dtypes": list(request.q_dtypes),
        "lengths": list(request.lengths),
    }


def _captured(
    worker: AskedWorker, request: StaticRequest, tools: GpuTools, deadline: float
) -> CaptureAnswer | StaticFailure:
    """The launches of every call, or why there are none."""
    try:
        capture = read_capture(worker.read_answer(deadline), request.asked())
    except (NoAnswer, BadAnswer) as e:
        return StaticFailure(kind="raised", detail=str(e), log=worker.log)
    return _first_failure(capture, request, tools, worker.log) or capture


def _first_failure(capture: CaptureAnswer, request: StaticRequest, tools: GpuTools, log: str) -> StaticFailure | None:
    """What the kernel does wrong before anything is assembled; None: it has launches at every L of a q dtype."""
    failed, where = capture.failure, ""
    is_taken = any(run.launches for run in capture.runs)
    for run in capture.runs if failed is None else ():
        if run.failure is None:
            continue
        is_optional = run.failure.kind == "unsupported" and run.q_dtype != request.workload.q_dtype and is_taken
        if not is_optional:
            failed, where = run.failure, f"L={length_label(run.length)}, q {run.q_dtype}: "
            break
    if failed is None:
        return None
    said = [line.strip() for line in log.splitlines() if "error:" in line][:_LOG_LINES]
    detail = where + failed.detail
    if failed.kind == "compiler" and "PassManager" in failed.detail and said:
        detail = f"{where}{said[0]}"  # the compiler prints its reason and raises a word without one
    return StaticFailure(
        kind=failed.kind, detail=detail, log=f"{failed.log}\n{log}".strip(), toolchain=_toolchain(capture, tools)
    )


def _toolchain(capture: CaptureAnswer, tools: GpuTools) -> Toolchain:
    used = {unit.tool for unit in capture.units.values()} or {"ptxas-blackwell"}
    versions = ", ".join(f"{name} {tools.versions[name]}" for name in sorted(used))
    return Toolchain(triton=capture.triton, torch=capture.torch, ptxas=versions)


def _call(run: CaptureRun, codes: dict[str, MachineCode], traffic: TrafficByCall) -> Call:
    return Call(
        q_dtype=run.q_dtype,
        length=run.length,
        launches=tuple(_launch(one, codes[one.unit]) for one in run.launches),
        traffic=traffic.get((run.q_dtype, run.length), ()),
    )


def _launch(one: LaunchAnswer, code: MachineCode) -> Launch:
    return Launch(
        kernel=one.kernel,
        grid=one.grid,
        warps=one.warps,
        stages=one.stages,
        ctas_per_cluster=one.ctas_per_cluster,
        shared_bytes=one.shared_bytes,
        tmem_columns=one.tmem_columns,
        is_cooperative=one.is_cooperative,
        uses_pdl=one.uses_pdl,
        arguments=tuple(Argument(name=a.name, kind=a.kind, text=a.text) for a in one.arguments),
        code=code,
    )
