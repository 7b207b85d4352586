"""SASS, the machine code of an NVIDIA GPU, as `nvdisasm -c` prints it: instructions, labels, a hash of what it does.

Two cubins of one program differ in addresses, label numbers, names and line tables; their normalised text does not.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_SECTION = re.compile(r"^\s*\.section\s+([^\s,]+)")
_TEXT_SECTION = ".text."
_LABEL = re.compile(r"^\s*(\.L_\w+|[\w$.]+):\s*$")
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<address>[0-9a-f]+)\*/\s+(?:(?P<guard>@!?U?P\w+)\s+)?(?P<opcode>[A-Z][\w.]*)\s*(?P<operands>[^;]*);"
)
_LABEL_OPERAND = re.compile(r"\.L_\w+")
_HASH_PREFIX = b"mjolnir sass 1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """`guard` is the predicate ("@!P0") or empty; `opcode` is whole ("HMMA.16816.F32.BF16")."""

    guard: str
    opcode: str
    operands: str

    @property
    def name(self) -> str:
        """The opcode without its modifiers: HMMA."""
        return self.opcode.partition(".")[0]

    @property
    def label(self) -> str:
        """The label that a branch names; empty: none."""
        found = _LABEL_OPERAND.search(self.operands)
        return found[0] if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SassFunction:
    """`labels`: the index of the instruction that follows each label, len(instructions) for one at the end."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]


def parse_sass(text: str) -> tuple[SassFunction, ...]:
    """The functions in the output of `nvdisasm -c`, in its order. Raises ValueError when it holds no instruction."""
    functions: list[SassFunction] = []
    name, code, labels = "", list[Instruction](), dict[str, int]()

    def close() -> None:
        if code:
            functions.append(SassFunction(name=name, instructions=tuple(code), labels=dict(labels)))
        code.clear()
        labels.clear()

    for line in text.splitlines():
        if section := _SECTION.match(line):
            close()
            name = section[1].partition(_TEXT_SECTION)[2] if _TEXT_SECTION in section[1] else ""
        elif found := _INSTRUCTION.match(line):
            code.append(
                Instruction(
                    guard=found["guard"] or "", opcode=found["opcode"], operands=" ".join(found["operands"].split())
                )
            )
        elif label := _LABEL.match(line):
            labels[label[1]] = len(code)
    close()
    if not functions:
        raise ValueError("no instruction in the disassembly")
    return tuple(functions)


def sass_hash(functions: Sequence[SassFunction]) -> str:
    """Lower-case hex sha256 of the instructions, with addresses, comments, label numbers and function names left out.

    Constants and operands stay: two programs with one hash are the same machine code.
    """
    names = {f.name: f"F{i}" for i, f in enumerate(functions) if f.name}
    sha = hashlib.sha256(_HASH_PREFIX)
    for number, function in enumerate(functions):
        sha.update(f"function {number}\n".encode())
        for one in function.instructions:
            operands = _without_names(one.operands, function.labels, names)
            sha.update(f"{one.guard} {one.opcode} {operands}\n".encode())
    return sha.hexdigest()


def _without_names(operands: str, labels: Mapping[str, int], names: Mapping[str, str]) -> str:
    """Labels as the place that they name, functions as their number."""
    operands = _LABEL_OPERAND.sub(lambda m: f"L{labels[m[0]]}" if m[0] in labels else "L?", operands)
    for name in sorted(names, key=len, reverse=True):
        if name in operands:
            operands = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", names[name], operands)
    return operands


_CLASSES: Mapping[str, frozenset[str]] = {
    name: frozenset(opcodes.split())
    for name, opcodes in {
        "local": "LDL STL",
        "tma": "UTMALDG UTMASTG UTMAPF UTMAREDG UTMACCTL UTMACMDFLUSH UBLKCP UBLKPF UBLKRED",
        "tensor memory": "LDTM STTM UTCCP UTCATOMSWS UTCSHIFT",
        "shared": "LDS STS LDSM STSM ATOMS LDSLK STSCUL",
        "global": "LDG STG LDGSTS LD ST ATOM ATOMG RED REDG REDAS STAS CCTL CCTLL LDGMC",
        "shuffle": "SHFL REDUX CREDUX VOTE VOTEU MATCH",
        "convert": "F2FP F2F F2I F2IP I2F I2FP I2IP FRND F2FPU",
        "barrier": "BAR SYNCS DEPBAR LDGDEPBAR MEMBAR FENCE ELECT WARPSYNC UCGABAR_ARV UCGABAR_WAIT BSYNC BSSY UTCBAR "
        "WARPGROUP WARPGROUPSET ARRIVES ERRBAR B2R NANOSLEEP USETMAXREG ACQBULK",
        "control": "BRA EXIT CALL RET BRX BRXU JMP JMX NOP YIELD BREAK BMOV BPT KILL RTT PREEXIT",
    }.items()
}
_FLOAT = re.compile(r"(?:U?F|D)(?:ADD|MUL|FMA|MNMX|SETP|SET|SEL|CHK|SWZADD|SWZ)\w*|H(?:ADD|MUL|FMA|MNMX|SETP|SET)2\w*")
MMA, EXP2, FLOAT, INTEGER = "mma", "exp2", "float", "integer"


def is_mma(one: Instruction) -> bool:
    """True for every tensor core product: HMMA, QGMMA, UTCQMMA ..."""
    return "MMA" in one.name


def is_exp2(one: Instruction) -> bool:
    """True for the special function unit's 2 ** x."""
    return one.opcode.startswith("MUFU.EX2")


def classify(one: Instruction) -> str:
    """The class of an instruction: mma, exp2, float, convert, shuffle, shared, tensor memory, tma, global, local,
    barrier, control, else integer (which holds addresses and moves)."""
    if is_mma(one):
        return MMA
    if is_exp2(one):
        return EXP2
    for name, opcodes in _CLASSES.items():
        if one.name in opcodes:
            return name
    return FLOAT if one.name == "MUFU" or _FLOAT.fullmatch(one.name) else INTEGER


def count_classes(instructions: Iterable[Instruction]) -> dict[str, int]:
    """Instructions by class, the most frequent first."""
    return dict(sorted(Counter(map(classify, instructions)).items(), key=lambda item: (-item[1], item[0])))


def count_mma(instructions: Iterable[Instruction]) -> dict[str, int]:
    """Tensor core products by opcode name: {"UTCQMMA": 12}."""
    return dict(sorted(Counter(one.name for one in instructions if is_mma(one)).items()))


def count_spills(functions: Iterable[SassFunction]) -> int:
    """Loads from and stores to local memory (STL and LDL), the slow place where registers go that do not fit."""
    return sum(one.name in ("LDL", "STL") for function in functions for one in function.instructions)
