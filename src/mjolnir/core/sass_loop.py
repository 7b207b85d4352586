"""The main loop of a kernel in its SASS: where the tensor core work of each KV tile is done.

A loop is a branch back to an instruction that every way to the branch passes (its header dominates it). That leaves
out what merely lies behind: a wait for a barrier is compiled as one try in the loop and a spin far away that jumps back
into the middle, and counting from there would take half the kernel for the loop. Such spins are not counted: they run
only while there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mjolnir.core.sass import Instruction, SassFunction, is_exp2, is_mma

_ENDS = frozenset({"EXIT", "RET", "KILL", "BRX", "BRXU", "JMX"})
_JUMPS = frozenset({"BRA", "JMP"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """`instructions` of one pass, in order; `header` and `end`: indices of its first and behind its last one."""

    header: int
    end: int
    instructions: tuple[Instruction, ...]

    @property
    def num_mma(self) -> int:
        return sum(map(is_mma, self.instructions))

    @property
    def has_exp2(self) -> bool:
        return any(map(is_exp2, self.instructions))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Instructions that run one after another: [start, end), then one of `successors` (block numbers)."""

    start: int
    end: int
    successors: tuple[int, ...]


def find_main_loop(function: SassFunction) -> Loop | None:
    """The innermost loop with both products of attention in it, and the exponential between them: most MMA, then
    fewest instructions. Without such a loop one with MMA, else one with the exponential; None: there is neither."""
    loops = list(_loops(function))
    both = [loop for loop in loops if loop.num_mma and loop.has_exp2]
    for found in (both, [loop for loop in loops if loop.num_mma], [loop for loop in loops if loop.has_exp2]):
        inner = [loop for loop in found if not any(_is_inside(other, loop) for other in found)]
        if inner:
            return max(inner, key=lambda loop: (loop.num_mma, -len(loop.instructions)))
    return None


def _is_inside(inner: Loop, outer: Loop) -> bool:
    return inner is not outer and outer.header <= inner.header and inner.end <= outer.end


def _loops(function: SassFunction) -> Iterator[Loop]:
    """Every loop with what lies between its header and its last branch back."""
    blocks = _blocks(function)
    dominators = _dominators(blocks)
    latches: dict[int, set[int]] = {}
    for number, block in enumerate(blocks):
        for target in block.successors:
            if target in dominators[number]:
                latches.setdefault(target, set()).add(number)
    for header, sources in latches.items():
        start, end = blocks[header].start, max(blocks[number].end for number in sources)
        body = [blocks[number] for number in sorted(_natural_loop(blocks, header, sources))]
        inside = [i for b in body if start <= b.start and b.end <= end for i in range(b.start, b.end)]
        yield Loop(header=start, end=end, instructions=tuple(function.instructions[i] for i in inside))


def _natural_loop(blocks: Sequence[_Block], header: int, sources: set[int]) -> set[int]:
    """The blocks from which a branch back is reached without passing the header, and the header."""
    before: dict[int, set[int]] = {}
    for number, block in enumerate(blocks):
        for target in block.successors:
            before.setdefault(target, set()).add(number)
    body, waiting = {header}, list(sources)
    while waiting:
        number = waiting.pop()
        if number not in body:
            body.add(number)
            waiting.extend(before.get(number, ()))
    return body


def _blocks(function: SassFunction) -> list[_Block]:
    code, labels = function.instructions, function.labels
    starts = {0, *(at for at in labels.values() if at < len(code))}
    starts |= {i + 1 for i, one in enumerate(code) if _leaves(one) and i + 1 < len(code)}
    ordered = sorted(starts)
    number = {start: i for i, start in enumerate(ordered)}
    joins = _join_labels(code)
    blocks = []
    for i, start in enumerate(ordered):
        end = ordered[i + 1] if i + 1 < len(ordered) else len(code)
        targets = {number[at] for at in _targets(code[end - 1], end - 1, labels, joins) if at in number}
        if _falls_through(code[end - 1]) and i + 1 < len(ordered):
            targets.add(i + 1)
        blocks.append(_Block(start=start, end=end, successors=tuple(sorted(targets))))
    return blocks


def _leaves(one: Instruction) -> bool:
    return one.name in _ENDS or one.name in _JUMPS or one.name == "BSYNC"


def _join_labels(code: Sequence[Instruction]) -> Mapping[str, set[str]]:
    """Where the threads of a convergence barrier meet again: BSSY names barrier and label, BSYNC the barrier alone. A
    barrier's register is used again and again, so this holds every label that it ever had."""
    joins: dict[str, set[str]] = {}
    for one in code:
        if one.name == "BSSY" and one.label:
            joins.setdefault(one.operands.partition(",")[0].strip(), set()).add(one.label)
    return joins


def _targets(one: Instruction, at: int, labels: Mapping[str, int], joins: Mapping[str, set[str]]) -> list[int]:
    """Where `one`, instruction number `at`, may jump. A meeting place lies behind its BSYNC, most often right there."""
    if one.name in _JUMPS:
        return [labels[one.label]] if one.label in labels else []
    if one.name == "BSYNC":
        behind = [labels[x] for x in joins.get(one.operands.strip(), ()) if x in labels and labels[x] > at]
        return [min(behind)] if behind else []
    return []


def _falls_through(one: Instruction) -> bool:
    """True when the next instruction may run after `one`. A branch may carry its condition as an operand:
    BRA.U UP0, `(.L_x_9)."""
    if one.guard:
        return True
    if one.name in _JUMPS:
        return "," in one.operands.partition("`")[0]
    return one.name not in _ENDS


def _dominators(blocks: Sequence[_Block]) -> list[set[int]]:
    """For each block those that every way from the entry to it passes; an unreachable one has itself alone."""
    before: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for target in block.successors:
            before[target].append(number)
    everything = set(range(len(blocks)))
    found = [{0}, *(set(everything) for _ in blocks[1:])]
    changed = True
    while changed:
        changed = False
        for number in range(1, len(blocks)):
            ways = [found[b] for b in before[number]]
            new = set.intersection(*ways) | {number} if ways else {number}
            if new != found[number]:
                found[number], changed = new, True
    return found
