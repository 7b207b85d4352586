"""Labels of the chart cover neither one another nor a marker."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mjolnir.render.label_layout import Wanted, place_labels

AREA = (0.0, 0.0, 1400.0, 500.0)


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def markers_of(points):
    return [(x - 6, y - 6, x + 6, y + 6) for x, y in points]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1400), st.integers(0, 500)), min_size=1, max_size=12, unique=True))
def test_labels_stay_inside_and_cover_nothing(points):
    markers = markers_of(points)
    wanted = [Wanted(key=i, x=x, y=y, width=280, height=13) for i, (x, y) in enumerate(points)]
    placed = place_labels(wanted, AREA, markers)
    for number, label in enumerate(placed):
        assert label.box[0] >= 0
        assert label.box[2] <= 1400
        assert label.box[1] >= 0
        assert label.box[3] <= 500
        assert not any(overlap(label.box, other.box) for other in placed[:number])
        assert not any(overlap(label.box, marker) for marker in markers)


def test_a_lone_point_has_its_label_right_above_it():
    (label,) = place_labels([Wanted(key=1, x=700, y=250, width=200, height=13)], AREA, markers_of([(700, 250)]))
    assert label.key == 1
    assert 250 < label.box[1] < 265


def test_a_label_that_finds_no_place_is_left_out():
    assert place_labels([Wanted(key=1, x=5, y=5, width=900, height=13)], (0, 0, 100, 100), []) == []
