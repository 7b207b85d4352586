"""Student's t: how far a mean of few values may be off."""

from __future__ import annotations

_T_975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
)  # fmt: skip
"""By degrees of freedom, from 1."""
_Z_975 = 1.959964


def t_quantile_975(freedom: int) -> float:
    """The 97.5 % quantile of Student's t with `freedom` degrees of freedom: for two-sided 95 %. ValueError below 1.

    A table up to 20, from there Fisher's expansion about the normal quantile (right to 4 decimals).
    """
    if freedom < 1:
        raise ValueError(f"{freedom} degrees of freedom: a spread needs two values or more")
    if freedom <= len(_T_975):
        return _T_975[freedom - 1]
    z = _Z_975
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
