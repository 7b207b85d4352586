"""`calibrate`: the champion against itself on the run's device, kept beside the ledger as one fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mjolnir.core.calibration import Calibration, as_fact, read_fact, require_runs
from mjolnir.core.model import Crashed, Tampered
from mjolnir.errors import EnvironmentFault, Refused, UsageFault
from mjolnir.loop.aa_race import STAGE, AaTerms, Blame, Raced, conclude, race_itself
from mjolnir.loop.device import hold_device
from mjolnir.loop.guard import require_frozen, require_no_replacements, require_sound_ledger
from mjolnir.loop.interrupt import Interruption
from mjolnir.loop.judgement import describe_failure
from mjolnir.loop.ledger_kernel import kernel_of_row
from mjolnir.loop.leftover import report_leftover
from mjolnir.loop.newest_fact import CALIBRATIONS
from mjolnir.loop.run_lookup import OpenRun, open_run
from mjolnir.loop.stage_log import in_flight
from mjolnir.loop.surroundings import Surroundings
from mjolnir.store.beside import append_fact, read_facts
from mjolnir.store.foreign_text import one_line
from mjolnir.targets.protocol import KernelSource, Target, load_target

USUAL_RUNS = 12
SHORT_RUNS = 4
"""What `init` takes: enough to see a device that is not fit, about a minute on a CPU."""
MAX_RUNS = 1000
TEXT = "calibration: the champion against itself"
_NAMED_DIFFERENCES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What `calibrate` found, with the run's tag and its keep rule."""

    tag: str
    rule: str
    calibration: Calibration


def calibrate_run(cwd: Path, runs: int, around: Surroundings, interruption: Interruption) -> Calibrated:
    """Calibrate the run that is checked out around `cwd` with `runs` races, and keep what was found.

    Without a champion the kernel of the run's base is raced. Raises UsageFault (runs), Refused as `evaluate` does for
    what is not about HEAD, EnvironmentFault (E_CHAMPION: the champion fails); in each case nothing is written. Before
    the fact is written `interruption` is closed.
    """
    try:
        require_runs(runs, MAX_RUNS)
    except ValueError as e:
        raise UsageFault(f"--runs: {e}", f"mjolnir autoresearch calibrate --runs {USUAL_RUNS}") from e
    run = _open(cwd, around)
    report_leftover(run.git.root, around)
    target = load_target(run.state.target, run.config)
    target.preflight()
    with hold_device(target.name, around):
        raced = _race(_open(cwd, around), target, runs, around)
    calibration = conclude(raced, around)
    interruption.close()
    keep_calibration(run.git.common_dir, run.state.tag, calibration)
    return Calibrated(tag=run.state.tag, rule=run.state.rule, calibration=calibration)


def keep_calibration(common_dir: Path, tag: str, calibration: Calibration) -> None:
    """Write it behind the run's other calibrations. Raises Refused as store.beside.append_fact."""
    append_fact(common_dir, tag, CALIBRATIONS, as_fact(calibration))


def newest_calibration(
    common_dir: Path, tag: str, notice: Callable[[str], None] = lambda text: None
) -> Calibration | None:
    """The calibration that was written last; None when there is none.

    Raises Refused E_LEDGER (its file cannot be read) and E_CALIBRATION (what stands there is no calibration).
    """
    facts = read_facts(common_dir, tag, CALIBRATIONS, notice)
    if not facts:
        return None
    try:
        return read_fact(facts[-1])
    except ValueError as e:
        what = f"the newest calibration of {tag} cannot be read: {one_line(str(e), 200)}"
        raise Refused("E_CALIBRATION", what, "mjolnir autoresearch calibrate") from e


def require_fitting(calibration: Calibration, *, device: Mapping[str, Any], config_hash: str, target: str) -> None:
    """The calibration is of this device and these rules. Raises Refused E_CALIBRATION that names what differs."""
    if calibration.target != target:
        what = f"target {calibration.target!r}, this run is measured on {target!r}"
    elif calibration.config_hash != config_hash:
        what = "another configuration than the run froze"
    else:
        differences = list(_differences("", calibration.device, device))
        if not differences:
            return
        what = "another device: " + "; ".join(differences[:_NAMED_DIFFERENCES])
    raise Refused(
        "E_CALIBRATION",
        f"the calibration {one_line(calibration.id, 40)} is of {what}",
        "mjolnir autoresearch calibrate",
    )


def blame_champion(name: str) -> Blame:
    """What to raise for a champion that fails in a race: EnvironmentFault E_CHAMPION, which names it by `name`."""

    def fault(failure: Crashed | Tampered) -> EnvironmentFault:
        return EnvironmentFault(
            "E_CHAMPION",
            f"{name} fails when it is timed against itself: {one_line(describe_failure(failure), 300)}",
            "run it again; if it stays so, start a new run from a sound commit: "
            "mjolnir autoresearch init TAG --base COMMIT",
            extra={"log": failure.log.strip() or None} if isinstance(failure, Crashed) else None,
        )

    return fault


def _open(cwd: Path, around: Surroundings) -> OpenRun:
    """The run, with its ledger, harness and configuration as they must be."""
    run = open_run(cwd, around.notice)
    require_no_replacements(run.git)
    require_sound_ledger(run, is_thorough=False)
    require_frozen(run)
    return run


def _race(run: OpenRun, target: Target, runs: int, around: Surroundings) -> Raced:
    champion = run.champion(run.ledger.glances())
    if champion is not None:
        named, kernel = f"the champion #{champion.id}", kernel_of_row(run, champion, "the champion")
    else:
        named, base = "the starting kernel", run.state.base_commit
        blob = run.git.read_blob(base, run.state.kernel)
        kernel = KernelSource(blob=blob.data, name=run.state.kernel, origin=base)
    terms = AaTerms(
        runs=runs,
        target=run.state.target,
        lengths=run.section.lengths,
        min_gain=run.state.min_gain,
        worker_pairs=run.section.worker_pairs,
        time_limit_s=run.section.time_limit_s,
        harness_hash=run.state.harness_hash,
        config_hash=run.state.config_hash,
    )
    name = f"{run.state.tag}-{around.now():%Y%m%dT%H%M%S}-{STAGE}"
    with in_flight(run.git.root, name=name, commit=kernel.origin, hypothesis=TEXT, around=around) as (_, observe):
        return race_itself(target, kernel, terms, replace(around, observe=observe), blame_champion(named))


def _differences(place: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What two fingerprints differ in, in words: "name 'A' there, 'B' here"."""
    for key in sorted({*then, *now}, key=lambda k: (k != "name", k)):
        old, new = then.get(key), now.get(key)
        name = f"{place}{key}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(f"{name}.", old, new)
        elif old != new:
            yield f"{one_line(name, 40)} {one_line(repr(old), 80)} there, {one_line(repr(new), 80)} here"
