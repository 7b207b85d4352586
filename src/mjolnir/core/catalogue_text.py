"""The texts of `mjolnir explain`: code -> (meaning, what to do or to type). Data only."""

from __future__ import annotations

Texts = dict[str, tuple[str, str]]

_NEXT = "git reset --hard to the champion (evaluate prints the command), then try another idea"
_FIX = "mend the kernel, commit, mjolnir autoresearch evaluate -m TEXT"
_AGAIN = 'mjolnir autoresearch evaluate -m "again" on the same commit'

STATUSES: Texts = {
    "baseline": ("The first measured row of a run: the starting kernel.", ""),
    "keep": (
        "Faster than the champion beyond what noise explains: this commit is the new champion.",
        "go on from here",
    ),
    "discard": ("Measured and not better, or checked and wrong. The row stays; the commit goes.", _NEXT),
    "noisy": ("The measurement is not to be trusted, so nothing was decided. Not the kernel's fault.", _AGAIN),
    "crash": ("A stage gave no result: syntax error, exception, time or memory limit. The log says which.", _FIX),
    "invalid": ("The kernel or its numbers broke the rules of measuring; the row's codes say which.", _FIX),
}

RULES: Texts = {
    "starting_kernel": ("There is no champion yet: this row is the first.", ""),
    "stage_failed": ("No score: a stage ended without a result.", "mjolnir autoresearch show ID has the log; " + _FIX),
    "incorrect": ("The answer is wrong in at least one case.", "mjolnir verify correctness --quick"),
    "bad_numbers": ("A score, ratio or reference time is not finite and positive, or an L cannot be read.", _AGAIN),
    "partial_sweep": (
        "An L that is required was not measured: a subset is never a keep.",
        "mjolnir autoresearch evaluate -m TEXT without --ls",
    ),
    "reference_unstable": (
        "The reference's time moved at several L (seed: by more than 15 %; confirmed: by more than 10 % "
        "against the other L): the machine was busy.",
        _AGAIN,
    ),
    "gain_too_small": ("The geomean over L did not beat the champion by more than min_gain.", _NEXT),
    "rests_on_one_length": ("Without its single best L the gain is gone: luck at one L looks like that.", _NEXT),
    "slower_at_several": ("Faster on average, but slower than the noise allows at two L or more.", _NEXT),
    "not_confirmed": ("The gain did not come again when champion and candidate ran side by side.", _NEXT),
    "gain": ("Faster by more than min_gain, not at one L alone, and not slower elsewhere.", "go on from here"),
}

INVALID: Texts = {
    "E_STATE": ("The answer depends on hidden state: a cache of results, a counter, a phase.", _FIX),
    "E_UNWRITTEN": ("`out` was not written in full, or only after the call had returned.", _FIX),
    "E_PROFILED": ("Right in the check, wrong when timed or profiled.", _FIX),
    "E_MUTATES": ("The kernel changed its inputs.", _FIX),
    "E_FOREIGN_KERNEL": ("A GPU kernel ran that is not in the kernel file.", _FIX),
    "E_NO_KERNEL": ("No GPU kernel of the file ran.", _FIX),
    "E_LAUNCHES": ("The number of launches varies, or differs from the unprofiled run.", _FIX),
    "E_FLOOR_TIME": ("Faster than the memory can deliver the KV cache: not all of it was read.", _FIX),
    "E_FLOOR_BYTES": ("Fewer bytes were read than the KV cache has.", _FIX),
    "E_WALL": ("The wall clock contradicts the profiler: work was done where it was not counted.", _FIX),
    "E_LEFTOVER": ("A process was left behind after the measurement; it was ended.", _FIX),
    "E_NUMBERS": ("A time is NaN, zero or negative.", _AGAIN),
    "E_CONTRACT": ("The kernel changed shape, dtype or strides of what it was given.", _FIX),
}

REFUSALS: Texts = {
    "E_IMPORT": (
        "The kernel imports something outside the allow-list; the line is named.",
        "remove that import, commit",
    ),
    "E_SAME_PROGRAM": (
        "This program was measured already: comments, layout and local names make no other one. The first row answers.",
        "change what the kernel does, commit",
    ),
    "E_BUDGET": ("This program was measured as often as the rules allow.", "change what the kernel does, commit"),
    "E_DIRTY": (
        "The work tree has changes that are not committed; only commits are measured.",
        "git status, git commit",
    ),
    "E_OTHER_FILES": (
        "Commits since the champion touch files beside the kernel and [run] allow.",
        "git diff --stat CHAMPION shows them; undo them in a new commit or reset to the champion",
    ),
    "E_LINEAGE": (
        "HEAD does not descend from the champion by kernel commits alone.",
        "type the command that was printed",
    ),
    "E_GIT_REPLACE": (
        "The repository has replace refs: what git shows is not what is stored.",
        "git replace -d OBJECT",
    ),
    "E_NOT_REGULAR": ("The kernel file at HEAD is missing, a symlink, executable or over 1 MB.", "commit a plain file"),
    "E_OBJECTS": ("An object of the repository is missing or damaged.", "git fsck --full"),
    "E_FILTER": ("A filter of the repository would run a program on checkout.", "git switch to the branch yourself"),
    "E_LEDGER": (
        "The ledger cannot be read, was changed by another hand, or belongs to another run. Nothing was overwritten.",
        "look at the file and line that were named; mjolnir autoresearch export keeps what is whole",
    ),
    "E_DISK_FULL": ("There is no room to write. The old files are untouched.", "df -h; free some space, run it again"),
    "E_READ_ONLY": ("A file or folder cannot be written.", "make it writable for you, or run as its owner"),
    "E_HARNESS": (
        "The installed mjolnir is not the one that the run began with.",
        "install that version again, or start a new run: mjolnir autoresearch init TAG",
    ),
    "E_CONFIG": (
        "mjolnir.toml cannot be read or makes no sense (exit 2), or an option or an edit asks for less than the frozen "
        "configuration (exit 4).",
        "mend the key that was named; other rules need a new run: mjolnir autoresearch init TAG",
    ),
    "E_REPOSITORY": ("This is not a git repository, or it has no work tree.", "cd into one, or mjolnir new DIR"),
    "E_BRANCH": ("The branch exists already, does not exist, or is in the way.", "git branch --list; take another tag"),
    "E_CALIBRATION": (
        "The stored calibration is of another device or configuration: its noise figures do not hold here.",
        "mjolnir autoresearch calibrate",
    ),
    "E_NO_COMMITS": ("The repository has no commit yet.", "git add FILES && git commit"),
    "E_RUN": ("There is no run on this branch.", "mjolnir autoresearch init TAG, or git switch autoresearch/TAG"),
    "E_BASELINE": (
        "The starting kernel is wrong or does not run; branch and ledger are as before.",
        "mjolnir verify correctness",
    ),
    "E_STALE_LOCK": ("git found a lock that a dead process left.", "remove the file that was named, if no git runs"),
    "E_DOCUMENT": ("A saved run document is missing or damaged.", "mjolnir verify list"),
    "E_DEMO": ("A step of the demo did not end as it was told to.", "mjolnir doctor, then mjolnir demo again"),
    "E_OWNER": (
        "The repository belongs to another user, and git does not trust it.",
        "git config --global --add safe.directory PATH, if you trust it",
    ),
    "E_FOLDER": ("A folder that is needed is missing, or not empty.", "name another folder"),
}

FINDINGS: Texts = {
    "E_VERDICT": (
        "A row's verdict does not follow from its own numbers and its champion's row: it was edited, or other rules "
        "judged it.",
        "mjolnir autoresearch show ID; do not build on that row",
    ),
    "E_PIN": (
        "The ref that keeps a row's commit reachable is missing, or points at another commit.",
        "type the command that was printed",
    ),
    "E_ANCHOR": (
        "The note of row count and last hash outside the repository is missing, unreadable or says something else: "
        "rows that were cut off would not show.",
        "bring the state folder back from a copy; else compare the ledger with an exported one",
    ),
}

ENVIRONMENT: Texts = {
    "E_GIT": ("git is missing, did not end, or failed.", "mjolnir doctor"),
    "E_TARGET": ("The target is not installed, or its device does not answer.", "mjolnir doctor"),
    "E_WORKER": ("The harness's own worker does not start or failed: nothing was measured.", "mjolnir doctor"),
    "E_CHAMPION": (
        "The champion, run beside the candidate, fails or breaks the rules here: there is nothing to compare with.",
        "mjolnir autoresearch show ID of the champion; start a new run from a sound commit: init TAG --base COMMIT",
    ),
    "E_NOISE": (
        "One kernel timed against itself scatters by more than 15 % at some L: nothing measured here means much.",
        "stop other load, fix the clocks, let it cool; then run it again",
    ),
    "E_UNSTEADY": (
        "This machine was too busy to measure a baseline: its clocks contradict each other.",
        "stop what else runs here (mjolnir doctor shows its load), then run it again",
    ),
    "E_DEVICE_LOCK": ("The lock file of the device cannot be used.", "look at the file that was named, then remove it"),
    "E_PRECONDITION": ("Something that the command needs is missing.", "mjolnir doctor"),
    "E_USAGE": ("The command line is not understood.", "add --help to the command"),
    "E_INTERRUPTED": ("Ctrl-C. Nothing was recorded, nothing is left running.", "run the command again"),
}

EXITS: Texts = {
    "0": ("Done, whatever the verdict.", ""),
    "1": ("A verification found failures.", "read the cases above; the last line says what to do"),
    "2": ("Nothing was measured, no row was written: environment, configuration or command line.", "mjolnir doctor"),
    "4": ("Refused because of the state of repository, ledger or frozen configuration.", "type the hint"),
    "130": ("Interrupted.", "run the command again"),
}
