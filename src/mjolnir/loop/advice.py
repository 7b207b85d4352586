"""What to do after a verdict, and the command to type: an agent reads this line and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from mjolnir.core.model import Experiment, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """`action`: continue, reset, evaluate_again or fix. `command`: what to type, None when there is nothing to type."""

    action: str
    text: str
    command: str | None = None


def advise(row: Experiment, *, champion_commit: str, has_other_changes: bool, is_applied: bool) -> Next:
    """`champion_commit`: where a failed experiment goes back to. `has_other_changes`: tracked files beside the kernel
    are edited, so a hard reset would lose them. `is_applied`: the branch is back there already."""
    how = "--keep" if has_other_changes else "--hard"
    reset = f"git reset {how} {champion_commit}"
    match row.status:
        case Status.KEEP:
            return Next(action="continue", text="this commit is the new champion: go on from here")
        case Status.BASELINE:
            return Next(action="continue", text="the run has its baseline: edit the kernel, commit, evaluate")
        case Status.NOISY:
            again = 'mjolnir autoresearch evaluate -m "the same idea, measured again"'
            text = "nothing was decided: measure the same commit again, when the machine is quieter"
            return Next(action="evaluate_again", text=text, command=again)
        case _ if is_applied:
            return Next(action="continue", text="the branch is back at the champion: try another idea")
        case Status.CRASH:
            text = "mend the kernel and commit, or give the idea up and go back to the champion"
            return Next(action="fix", text=text, command=reset)
        case _:
            return Next(action="reset", text="go back to the champion, then try another idea", command=reset)
