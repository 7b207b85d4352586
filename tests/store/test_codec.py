import hashlib
import json
import math
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_place import an_experiment

from mjolnir.core.model import Experiment, Status
from mjolnir.store.codec import decode_glance, decode_row, encode_row, row_hash, row_to_json

TEXT = st.text(st.characters(codec=None), max_size=50)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
PER_LENGTH = st.dictionaries(st.integers(1, 300_000).map(str), NUMBERS, max_size=8)


@settings(deadline=None)
@given(
    hypothesis=TEXT,
    agent=TEXT,
    sources=st.lists(TEXT, max_size=3),
    score=st.none() | NUMBERS,
    status=st.sampled_from(Status),
    per_length=PER_LENGTH,
    device=st.none() | st.dictionaries(TEXT, TEXT | st.integers() | NUMBERS | st.none(), max_size=3),
)
def test_a_row_survives_the_line_it_is_written_on(hypothesis, agent, sources, score, status, per_length, device):
    row = an_experiment(
        hypothesis,
        agent=agent,
        sources=sources,
        score=score,
        status=status,
        per_L=per_length,
        device=device,
        schema="mjolnir.ledger/1",
    )
    line = encode_row(row)
    assert decode_row(line) == row
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert json.loads(line) == row_to_json(row)


def test_the_hash_is_the_one_of_the_contract():
    row = json.loads(encode_row(an_experiment("löß")))
    row.pop("hash")
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    assert row_hash(row | {"hash": "anything"}) == hashlib.sha256(text.encode("ascii")).hexdigest()


def test_a_line_has_the_keys_in_the_order_of_the_record():
    keys = list(json.loads(encode_row(an_experiment())))
    assert keys == [f.name for f in fields(Experiment)]
    assert keys[0] == "id"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_and_inf_are_not_written(value):
    with pytest.raises(ValueError, match="JSON"):
        encode_row(an_experiment(score=value))


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":1,"status":"keep"}',
        b'{"id":1,"ts":"","status":"great"}',
        b'{"id":"1","ts":"","status":"keep"}',
        b'{"id":1,"ts":"","status":"keep","score":"high"}',
        b'{"id":1,"ts":"","status":"keep","score":1,"score":2}{',
        b"null",
        b"",
    ],
)
def test_a_line_that_is_no_row_is_a_value_error(line):
    with pytest.raises(ValueError):  # noqa: PT011 (the message is the decoder's)
        decode_row(line)


def test_an_old_row_with_a_null_or_a_nan_is_read():
    row = decode_row(
        b'{"id":3,"ts":"t","status":"crash","score":NaN,"per_L":null,"hypothesis":null,"correctness":"pass"}'
    )
    assert (row.score, row.per_L, row.hypothesis, row.rule) == (None, {}, "", "stage_failed")


def test_a_glance_reads_past_what_it_does_not_need():
    glance = decode_glance(b'{"id":3,"status":"keep","ts":"t","commit":"c","score":1.5,"device":{"deep":[{}]},"new":1}')
    assert (glance.id, glance.status, glance.score) == (3, Status.KEEP, 1.5)
