"""mjolnir.toml -> typed Config. An unknown key, a wrong type or an absurd value is an error that names the key."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from mjolnir.config_rules import value_rules
from mjolnir.core.rule_names import CONFIRMED
from mjolnir.core.workload import PagedDecode
from mjolnir.errors import ConfigFault

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CONFIG_NAME = "mjolnir.toml"
GPU_LENGTHS = (128, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
CPU_LENGTHS = (128, 1024, 4096, 16384)
CPU_KERNEL = "src/mjolnir_kernel/cpu_decode.py"
GPU_KERNEL = "src/mjolnir_kernel/t5_decode.py"
GPU_TARGETS = frozenset({"cuda", "thor"})
"""Their kernels may import torch and triton instead of numpy and numba."""
INTERPRETER = "interpreter"
JUDGING_SECTIONS = ("run", "targets", "workload", "gate")
"""What is frozen at `init`; hooks and summaries decide nothing and may change during a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSection:
    target: str = "auto"
    min_gain: float = 0.02
    rule: str = CONFIRMED
    allow: tuple[str, ...] = ("research/program.md",)
    sandbox: str = "process"
    plateau: int = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSection:
    """One [targets.NAME]. `min_gain` may ask for more than [run]; `worker_pairs`: fresh process pairs an evaluation."""

    kernel: str = CPU_KERNEL
    lengths: tuple[int, ...] = CPU_LENGTHS
    min_gain: float = 0.0
    worker_pairs: int = 3
    time_limit_s: float = 300.0
    memory_limit_gib: float = 8.0
    image: str = ""
    reference_image: str = ""
    gpu_args: tuple[str, ...] = ()
    clock_control: str = "none"
    bandwidth_gbps: float = 0.0
    ncu: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSection(PagedDecode):
    """The shapes of core/workload.py with the name of their kind."""

    kind: str = "paged_decode"

    def paged_decode(self) -> PagedDecode:
        """The workload without its kind."""
        values = asdict(self)
        values.pop("kind")
        return PagedDecode(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSection:
    metrics_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksSection:
    on_keep: str = ""
    on_stop: str = ""
    on_crash_streak: str = ""
    on_plateau: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummariesSection:
    auto: bool = False
    model: str = ""
    effort: str = "low"
    max_usd: float = 0.5


TARGET_DEFAULTS: Mapping[str, TargetSection] = {
    "cpu": TargetSection(min_gain=0.05),
    "cuda": TargetSection(kernel=GPU_KERNEL, lengths=GPU_LENGTHS),
    "thor": TargetSection(kernel=GPU_KERNEL, lengths=GPU_LENGTHS, gpu_args=("--runtime=nvidia",), bandwidth_gbps=273.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    run: RunSection = field(default_factory=RunSection)
    targets: Mapping[str, TargetSection] = field(default_factory=lambda: dict(TARGET_DEFAULTS))
    workload: WorkloadSection = field(default_factory=WorkloadSection)
    gate: GateSection = field(default_factory=GateSection)
    hooks: HooksSection = field(default_factory=HooksSection)
    summaries: SummariesSection = field(default_factory=SummariesSection)

    def judging_values(self) -> dict[str, Any]:
        """The frozen part as plain JSON values, with every default filled in."""
        values: dict[str, Any] = {}
        for name in JUDGING_SECTIONS:
            section = getattr(self, name)
            values[name] = {k: asdict(v) for k, v in section.items()} if name == "targets" else asdict(section)
        return json.loads(json.dumps(values))  # type: ignore[no-any-return]  # tuples become lists

    def judging_hash(self) -> str:
        """Lower-case hex sha256 over `judging_values` in canonical JSON."""
        text = json.dumps(self.judging_values(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def section(self, target: str) -> TargetSection:
        """[targets.TARGET]. The interpreter has none: it checks the kernel of the run's GPU target, or else of thor.

        Raises ConfigFault when there is none.
        """
        if target == INTERPRETER:
            target = self.run.target if self.run.target in GPU_TARGETS else "thor"
        if target not in self.targets:
            known = ", ".join(sorted(self.targets))
            raise ConfigFault(f"{CONFIG_NAME} has no [targets.{target}]", f"add it, or choose one of: {known}")
        return self.targets[target]

    def min_gain(self, target: str) -> float:
        """The floor of a target: the larger of [run] and [targets.NAME]."""
        return max(self.run.min_gain, self.targets[target].min_gain)


def read_config(root: Path) -> Config:
    """The configuration of a repository. Raises ConfigFault."""
    path = root / CONFIG_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigFault(
            f"no {CONFIG_NAME} in {root}", "make a research repository with `mjolnir new DIR`, then run this inside it"
        ) from None
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigFault(f"{path} cannot be read: {e}", f"restore it: git checkout -- {CONFIG_NAME}") from e
    return parse_config(text, where=CONFIG_NAME)


def parse_config(text: str, *, where: str = CONFIG_NAME) -> Config:
    """`text` as a Config. Raises ConfigFault that names the key and, where it is a slip, the nearest valid one."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ConfigFault(f"{where} is not TOML: {e}", "mend that line; `mjolnir new` writes a working example") from e
    return build_config(values, where=where)


def build_config(values: Mapping[str, Any], *, where: str = CONFIG_NAME) -> Config:
    """Plain values (a parsed TOML, or the frozen JSON of a run) as a Config."""
    known = {f.name for f in fields(Config)}
    sections: dict[str, Any] = {}
    for name, section in values.items():
        _require_known(name, known, "", where)
        if not isinstance(section, Mapping):
            raise ConfigFault(f"{where}: [{name}] is not a table", f"write it as a section: [{name}]")
        sections[name] = _targets(section, where) if name == "targets" else _section(name, section, where)
    config = Config(**sections)
    _check_values(config, where)
    return config


def _section(name: str, values: Mapping[str, Any], where: str) -> Any:
    hints = get_type_hints(Config)
    return _convert(name, values, hints[name](), where)


def _targets(values: Mapping[str, Any], where: str) -> dict[str, TargetSection]:
    targets = dict(TARGET_DEFAULTS)
    for name, section in values.items():
        if not isinstance(section, Mapping):
            raise ConfigFault(f"{where}: targets.{name} is not a table", f"write it as a section: [targets.{name}]")
        targets[name] = _convert(f"targets.{name}", section, targets.get(name, TargetSection()), where)
    return targets


def _convert(name: str, values: Mapping[str, Any], defaults: DataclassInstance, where: str) -> Any:
    """`values` over `defaults`, with the dataclass's own types enforced."""
    kind = type(defaults)
    known = {f.name for f in fields(kind)}
    for key in values:
        _require_known(key, known, name, where)
    merged = {f.name: getattr(defaults, f.name) for f in fields(kind)} | dict(values)
    try:
        return msgspec.convert(merged, type=kind)
    except msgspec.ValidationError as e:
        text = str(e)
        reason, _, path = text.partition(" - at `$.")
        key = path.rstrip("`") or "?"
        default = json.dumps(getattr(defaults, key.partition("[")[0], None))  # JSON is near enough to TOML here
        raise ConfigFault(f"{where}: {name}.{key}: {reason}", f"mend [{name}] {key}; its default is {default}") from e


def _require_known(key: str, known: set[str], section: str, where: str) -> None:
    if key in known:
        return
    near = difflib.get_close_matches(key, sorted(known), n=1, cutoff=0.5)
    place = f"[{section}] " if section else ""
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(known))}"
    raise ConfigFault(f"{where}: unknown key {place}{key}", hint)


def _check_values(config: Config, where: str) -> None:
    for key, is_sane, wanted in value_rules(config):
        if not is_sane:
            raise ConfigFault(f"{where}: {key} makes no sense", f"{key} must be {wanted}")
