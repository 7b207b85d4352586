"""What an attack on the repository must come to: HEAD's committed bytes were measured, and nothing else."""

from __future__ import annotations

import hashlib

from doubles.research import kernel_text

HONEST, CHEAT = 1.2, 99.0
"""Speedups that the scripted kernels claim: the committed one, and the one that the attack wants measured."""


def blob_id(text):
    """git's id of a file with this text, worked out without git."""
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def committed_was_measured(lab, text=None, *words):
    """Evaluate; the row must be of the committed kernel. Returns the row as the ledger has it."""
    said = lab.evaluate("an idea", *words)
    assert said.code == 0, said.err
    row = lab.rows()[-1]
    assert row["id"] == said.json["id"]
    assert row["kernel_blob"] == blob_id(kernel_text(speedup=HONEST) if text is None else text)
    assert row["status"] == "keep"
    assert max(row["per_L"].values()) < 2.0, "the cheat's speedup was measured"
    return row
