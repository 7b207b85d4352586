"""What a broken variant of the Triton decode kernel is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KERNEL = Path(__file__).parents[2] / "src" / "mjolnir_kernel" / "t5_decode.py"
BF16, FP8 = "bf16", "fp8_e4m3"
LSE, FAR_PAGES, FRESH_MEMORY, SINK = "lse", "far pages", "fresh memory", "sink"


@dataclass(frozen=True, slots=True)
class Mutant:
    """The shipped kernel with pieces of text exchanged.

    changes  (text of the shipped file, what takes its place); each text is in the file exactly once
    q        the q dtypes that are wrong with it
    only_by  the part of the check that alone finds it, empty where several do: LSE; FAR_PAGES, offsets over 2 GiB;
             FRESH_MEMORY, NaN in what torch.empty gives; SINK, a heavy token whose V is zero
    """

    name: str
    why: str
    changes: tuple[tuple[str, str], ...]
    q: tuple[str, ...] = (BF16, FP8)
    only_by: str = ""

    def text(self) -> str:
        """The broken file. Raises AssertionError where the shipped file no longer holds a text exactly once."""
        shipped = broken = KERNEL.read_text()
        for old, new in self.changes:
            count = shipped.count(old)
            assert count == 1, f"mutant {self.name!r}: {old!r} is {count} times in {KERNEL.name}, so mend the mutant"
            broken = broken.replace(old, new)
        return broken


def mutant(name: str, why: str, *changes: tuple[str, str], q: tuple[str, ...] = (BF16, FP8), only_by: str = ""):
    """A Mutant, with its changes as plain arguments."""
    return Mutant(name, why, changes, q, only_by)
