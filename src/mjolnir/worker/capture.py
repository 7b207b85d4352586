"""The worker that is asked for a kernel's facts: `capture` its launches, or count its `traffic`.

It puts up the walls of worker/confine.py before it reads the kernel, answers once over its pipe (a byte 0 when the
walls stand, then u32 length and JSON) and ends. Inputs are allocated and never touched, so that L = 256K costs no
memory. What it answers after the kernel was loaded is the kernel's word: the parent checks every field.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

CAPTURE, TRAFFIC = "capture", "traffic"


def main() -> None:
    args = _arguments()
    from mjolnir.worker.confine import confine, die_with_parent

    die_with_parent()
    if os.getppid() != args.parent:
        raise SystemExit("the parent is gone")
    request = json.loads(Path(args.request).read_text(encoding="utf-8"))
    os.environ.update(_environment(args.mode))
    answer = _prepare(args.mode, request, args.kernel)
    confine(
        memory_bytes=args.memory_bytes,
        scratch=args.scratch,
        readable=args.readable,
        keeps_read_search=args.keeps_read_search,
    )
    fd = args.answers
    del args
    sys.argv, sys.orig_argv = ["worker"], ["worker"]
    os.write(fd, b"\0")  # the walls stand: what fails from here on is the kernel's doing
    data = json.dumps(answer()).encode()
    left = memoryview(len(data).to_bytes(4, "little") + data)
    while left:
        left = left[os.write(fd, left) :]


def _arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser()
    for name in ("answers", "memory-bytes", "parent"):
        p.add_argument(f"--{name}", type=int, required=True)
    for name in ("kernel", "request", "scratch"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--mode", choices=[CAPTURE, TRAFFIC], required=True)
    p.add_argument("--readable", action="append", default=[])
    p.add_argument("--keeps-read-search", action="store_true")
    return p.parse_args()


def _environment(mode: str) -> dict[str, str]:
    """What Triton reads when it is imported. Its defaults change between versions; ours do not."""
    fixed = {
        "TRITON_DEFAULT_FP_FUSION": "1",
        "TRITON_DISABLE_LINE_INFO": "1",  # else a comment above a kernel makes another PTX of it
    }
    return {**fixed, "TRITON_INTERPRET": "1"} if mode == TRAFFIC else fixed


def _prepare(mode: str, request: dict[str, Any], kernel_path: str) -> Callable[[], dict[str, Any]]:
    """Import what the work needs while the file system is still whole; the answer is made later, behind the walls."""
    import torch
    import triton

    from mjolnir.worker import kernel_failure, kv_traffic
    from mjolnir.worker.host_rules import forbid_tuning_and_cuda
    from mjolnir.worker.legs.candidate import load_decode
    from mjolnir.worker.stub_driver import Recorder, install

    recorder, counter = Recorder(), kv_traffic.TrafficCounter(kernel_path)
    install(request["device"], recorder, request["ptxas_versions"])
    if mode == TRAFFIC:
        counter.install()
    tracker: Any = counter if mode == TRAFFIC else recorder
    torch.set_num_threads(1)
    forbid_tuning_and_cuda(kernel_path)
    versions = {"triton": triton.__version__, "torch": str(torch.__version__)}

    def answer() -> dict[str, Any]:
        try:
            decode = load_decode(kernel_path)
        except BaseException as e:  # noqa: BLE001  (the kernel may raise anything)
            return {**versions, "runs": [], "units": {}, "failure": kernel_failure.describe_failure(e, kernel_path)}
        runs = list(_runs(decode, tracker, request, kernel_path))
        return {**versions, "runs": runs, "units": recorder.units, "failure": None}

    return answer


def _runs(
    decode: Callable[..., object], tracker: Any, request: Mapping[str, Any], kernel_path: str
) -> Iterator[dict[str, Any]]:
    """One entry a q dtype and L; the first failure ends its dtype: longer L have the same."""
    from mjolnir.worker.kernel_failure import describe_failure
    from mjolnir.worker.stub_driver import HostCodeError

    for q_dtype in request["q_dtypes"]:
        for length in request["lengths"]:
            failure = None
            try:
                tensors = _inputs(request["workload"], q_dtype, length)
                tracker.start_call(tensors)
                scalars = {"sm_scale": tensors["q"].shape[-1] ** -0.5, "q_scale": 1.0, "k_scale": 1.0, "v_scale": 1.0}
                decode(*(tensors[name] for name in ("q", "kv_cache", "page_table", "seq_lens")), **scalars,
                       out=tensors["out"])  # fmt: skip
                if not tracker.launches:
                    raise HostCodeError("decode launches no Triton kernel")
            except BaseException as e:  # noqa: BLE001  (the kernel may raise anything)
                failure = describe_failure(e, kernel_path)
            launches = [] if failure else tracker.launches
            yield {"q_dtype": q_dtype, "length": length, "launches": launches, "failure": failure}
            if failure:
                break


def _inputs(workload: Mapping[str, Any], q_dtype: str, length: int) -> dict[str, Any]:
    """The tensors of a timed call at `length` (oracle/timed.py): table as wide as the row's pages, one spare page."""
    import torch

    dtypes = {"bf16": torch.bfloat16, "fp8_e4m3": torch.float8_e4m3fn}
    batch, heads, dim, page = (workload[k] for k in ("batch", "num_q_heads", "head_dim", "page_size"))
    pages = -(-length // page)
    cache_shape = (batch * pages + 1, 2, workload["num_kv_heads"], page, dim)
    return {
        "q": torch.empty((batch, heads, dim), dtype=dtypes[q_dtype]),
        "kv_cache": torch.empty(cache_shape, dtype=dtypes[workload["kv_dtype"]]),
        "page_table": torch.arange(batch * pages, dtype=torch.int32).reshape(batch, pages),
        "seq_lens": torch.full((batch,), length, dtype=torch.int32),
        "out": torch.empty((batch, heads, dim), dtype=torch.bfloat16),
    }


if __name__ == "__main__":
    main()
