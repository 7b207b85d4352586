"""How many tiles one pass of a compiled loop takes, read from Triton's own GPU IR.

A loop that the source unrolls (`tl.range(..., loop_unroll_factor=2)`) is one pass of two tiles in the machine code, and
its instructions are those of both.
"""

from __future__ import annotations

import re

_LOOP = re.compile(r"\bscf\.(?:for|while)\b")
_DOT = re.compile(r"\b(?:tt\.dot(?:_scaled)?|ttng\.tc_gen5_mma(?:_scaled)?|ttng\.warp_group_dot)\b(?!_wait)")


def dots_of_main_loop(ttgir: str) -> int:
    """Products in the loop of a module that has the most of them, loops inside it left out; 0: no loop has any."""
    depth, open_loops, most = 0, list[list[int]](), 0
    for line in ttgir.splitlines():
        deeper = depth + line.count("{") - line.count("}")
        if _LOOP.search(line) and deeper > depth:
            open_loops.append([depth, 0])
        elif open_loops and _DOT.search(line):
            open_loops[-1][1] += 1
        depth = deeper
        while open_loops and depth <= open_loops[-1][0]:
            most = max(most, open_loops.pop()[1])
    return most
