"""Work that a kernel does and does not need: removing some of it is a change that is worth a known gain."""

from __future__ import annotations

from evaluate_cost import KERNEL

_WRITING = "    out[...] = "
_SPARE_WORK = """\
    spare = np.empty(q.shape, np.float32)
    for part in {parts}:
        fewer = np.maximum(1, part * seq_lens).astype(np.int32)
        attend(q.astype(np.float32), kv_bits, decoding_table(kv_cache.dtype), page_table, fewer, scale, spare)
"""


def spare_parts(total: float) -> list[float]:
    """Shares of the whole work, each at most 1, that make `total` times the work together with the real one."""
    rest = total - 1
    whole = int(rest)
    return [1.0] * whole + ([round(rest - whole, 6)] if rest - whole > 1e-3 else [])


def with_spare_work(text: str, total: float) -> str:
    """The starting kernel's text, doing `total` times its work."""
    head, writing, tail = text.rpartition(_WRITING)
    if not writing:
        raise RuntimeError(f"{KERNEL} has no line that starts with {_WRITING!r} any more")
    parts = tuple(spare_parts(total))
    return f"{head}{_SPARE_WORK.format(parts=parts) if parts else ''}{writing}{tail}"
