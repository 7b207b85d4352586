"""`evaluate` reminds of earlier ideas like this one before it measures."""

from __future__ import annotations

pytest_plugins = ("doubles.fixtures",)


def test_an_idea_that_was_tried_before_is_told_before_the_measurement(research):
    lab = research.started("oct11", "--rule", "seed", "--no-calibrate")
    lab.commit(speedup=1.004)
    assert "earlier:" not in lab.evaluate("Share page tiles between the heads").err
    lab.commit(speedup=1.2)
    said = lab.evaluate("share the page tiles between heads")
    assert said.json["status"] == "keep"
    lines = said.err.splitlines()
    reminder = "note: earlier: #2 discard (gain_too_small, +0.4 %): 'Share page tiles between the heads'"
    assert lines.index(reminder) < lines.index("evaluating: correctness ...")
