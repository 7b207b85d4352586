"""The ledger of one run: append a row that nothing can silently lose, read rows, say whether all is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mjolnir.core.model import Experiment, RowGlance
from mjolnir.errors import Refused
from mjolnir.store import append, atomic, settle, view
from mjolnir.store.anchor import Anchor, forget_anchor, read_anchor
from mjolnir.store.chain import ChainState, walk
from mjolnir.store.codec import decode_glance, decode_glances, decode_json, decode_row, decode_rows
from mjolnir.store.judge_tail import require_one_history, require_vouched
from mjolnir.store.ledger_files import LEDGER, LedgerFiles, ledger_files, ledger_owner
from mjolnir.store.lock import exclusive


class Ledger:
    """Made by `open_ledger` or `start_ledger`.

    `notices` are sentences for the user: what was mended, what could not be checked. `problem` is why the ledger is not
    what it was; it may still be read, but `append` and `require_sound` raise it.
    """

    def __init__(self, files: LedgerFiles, tag: str) -> None:
        self.tag = tag
        self.notices: list[str] = []
        self.problem: Refused | None = None
        self._files = files
        self._file = files.ledger

    @property
    def path(self) -> Path:
        """research/ledger.jsonl of this work tree."""
        return self._file.path

    @property
    def view_path(self) -> Path:
        """research/ledger.tsv of this work tree."""
        return self._files.view

    def append(self, row: Experiment) -> Experiment:
        """Record `row`: schema, run, id, prev and hash are given here, under the lock. Returns what was written.

        Raises Refused E_LEDGER, E_DISK_FULL or E_READ_ONLY, in each case with the files as they were; ValueError for a
        row that JSON cannot hold (NaN, inf).
        """
        self.require_sound()
        return append.append_row(self._files, self.tag, row, self.notices.append)

    def require_sound(self) -> None:
        """Raises the Refused E_LEDGER that opening found, if any."""
        if self.problem is not None:
            raise self.problem

    def count(self) -> int:
        """How many rows there are; lines are counted, not parsed."""
        return settle.count_rows(self._file)

    def glances(self) -> list[RowGlance]:
        """Every row in file order, few keys of each. Raises Refused E_LEDGER with file and line."""
        return self._file.decode_all(decode_glances, decode_glance)

    def rows(self) -> list[Experiment]:
        """Every row in file order, whole. Raises Refused E_LEDGER with file and line."""
        return self._file.decode_all(decode_rows, decode_row)

    def tail(self, count: int) -> list[Experiment]:
        """The last `count` rows, newest last; the rest of the file is not read. Raises Refused E_LEDGER."""
        return [self._decode_tail(decode_row, line) for line in self._file.tail(count).lines]

    def row(self, row_id: int) -> Experiment | None:
        """The row with this id, or None. Raises Refused E_LEDGER with file and line."""
        found = self._line_of(row_id)
        return None if found is None else self._file.decode_line(decode_row, *found)

    def raw_row(self, row_id: int) -> dict[str, Any] | None:
        """The row with this id as it stands in the file, every key, or None. Raises Refused E_LEDGER."""
        found = self._line_of(row_id)
        return None if found is None else self._file.decode_line(decode_json, *found)

    def raw_rows(self, count: int | None = None) -> list[dict[str, Any]]:
        """The last `count` rows (None: all) as they stand in the file, every key. Raises Refused E_LEDGER.

        A line that is JSON and no row is damage here too: each is decoded as a row as well.
        """
        if count is not None:
            return [self._decode_tail(_decode_checked, line) for line in self._file.tail(count).lines]
        return [self._file.decode_line(_decode_checked, number, line) for number, line in self._file.lines()]

    def check(self) -> ChainState:
        """The quick answer: row count, last hash, ledger and mirror and anchor against each other."""
        before = _anchor(self._files) if self.problem is None else None
        rows = self.count()
        # An anchor that moved while the lines were counted: another process is appending, and nothing is wrong.
        if before is not None and before.rows != rows and before == _anchor(self._files):
            what = f"{LEDGER} holds {rows} rows, but {before.rows} were recorded (anchor: {self._files.anchor})"
            self.problem = Refused("E_LEDGER", what, "run the command again: what the mirror holds is restored")
        return ChainState(ok=self.problem is None, rows=rows, problem=self.problem)

    def verify(self) -> ChainState:
        """The whole answer: every hash and link, ids, one run, the mirror and the anchor."""
        files = self._files
        rows = self.count()
        try:
            self.require_sound()
            for _ in walk(files.ledger, self.tag):
                pass
            require_one_history(files.ledger, files.mirror)
            require_vouched(files.ledger, _anchor(files), files)
        except Refused as problem:
            return ChainState(ok=False, rows=rows, problem=problem)
        return ChainState(ok=True, rows=rows)

    def _line_of(self, row_id: int) -> tuple[int, bytes] | None:
        """Number and line of a row. Writers put the id first; a line of another make is decoded to know its id."""
        starts = (f'{{"id":{row_id},'.encode(), f'{{"id": {row_id},'.encode())
        for number, line in self._file.lines():
            if line.startswith(starts):
                return number, line
        for number, line in self._file.lines():
            if self._file.decode_line(decode_glance, number, line).id == row_id:
                return number, line
        return None

    def _decode_tail(self, decode: Any, line: bytes) -> Any:
        """A line from the end of the file; only a bad one costs counting which it is."""
        try:
            return decode(line)
        except ValueError:
            number = next(n for n, other in self._file.lines() if other == line)
            return self._file.decode_line(decode, number, line)


def open_ledger(root: Path, common_dir: Path, *, tag: str) -> Ledger:
    """The ledger of the run `tag` in the work tree `root`, mended where a crash or `git clean` left its mark.

    Raises Refused E_LEDGER when the file is no regular file, cannot be read, or holds the rows of another run.
    Rows that were removed, edited or forged do not hide the others: they come as `Ledger.problem`.
    """
    files = ledger_files(root, common_dir, tag)
    owner = ledger_owner(root)
    if owner not in (None, tag):
        raise Refused(
            "E_LEDGER",
            f"{LEDGER} holds the run {owner}, not {tag}",
            f"mjolnir autoresearch export --tag {owner}, then mv '{files.ledger.path}' '{files.ledger.path}.{owner}'",
        )
    ledger = Ledger(files, tag)
    try:
        tip = settle.settle(files, ledger.notices.append)
    except Refused as problem:
        ledger.problem = problem
        return ledger
    if tip.anchor is None and tip.size_bytes:
        ledger.notices.append(
            "no anchor on this machine knows this ledger (old, moved or copied?): rows removed before now do not show"
        )
    trouble = view.refresh(files)
    if trouble:
        ledger.notices.append(trouble)
    return ledger


def start_ledger(root: Path, common_dir: Path, *, tag: str, run_hash: str | None = None) -> Ledger:
    """The empty ledger of a new run, with a fresh anchor that also remembers `run_hash`, the sha256 of its run.json.

    Raises Refused E_LEDGER when the work tree holds a ledger with rows, or the tag had rows before.
    """
    files = ledger_files(root, common_dir, tag)
    if files.ledger.size_bytes():
        owner = ledger_owner(root) or "an earlier one"
        raise Refused(
            "E_LEDGER",
            f"{LEDGER} holds rows of another run: {owner}",
            f"mjolnir autoresearch export, then move it away: mv '{files.ledger.path}' '{files.ledger.path}.aside'",
        )
    if files.mirror.size_bytes():
        raise Refused(
            "E_LEDGER",
            f"the tag {tag} was used before: its rows are in {files.mirror.path}",
            "take another tag for a new run",
        )
    with atomic.disk_errors(files.folder), exclusive(files.lock):
        atomic.make_folder(files.research)
        ledger = Ledger(files, tag)
        settle.first_anchor(files, Anchor(run_hash=run_hash), ledger.notices.append)
    return ledger


def remove_ledger(root: Path, common_dir: Path, *, tag: str) -> None:
    """Undo `start_ledger` and every row since: for an `init` that failed. Rows of another run stay. Raises Refused."""
    files = ledger_files(root, common_dir, tag)
    with atomic.disk_errors(files.research):
        if ledger_owner(root) in (None, tag):
            files.ledger.path.unlink(missing_ok=True)
            view.remove(files)
        files.mirror.path.unlink(missing_ok=True)
        forget_anchor(files.anchor)


def _decode_checked(line: bytes) -> dict[str, Any]:
    decode_row(line)
    return decode_json(line)


def _anchor(files: LedgerFiles) -> Anchor | None:
    return read_anchor(files.anchor) if files.anchor else None
