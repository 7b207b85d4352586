from __future__ import annotations

import json
from dataclasses import replace

import pytest
from store_place import TAG

from mjolnir.config import Config
from mjolnir.errors import Refused
from mjolnir.store.ledger import remove_ledger, start_ledger
from mjolnir.store.run_state import RunState, hash_config, list_tags, read_run_state, remove_run_state, write_run_state


@pytest.fixture
def state():
    config = Config()
    return RunState(
        tag=TAG,
        branch=f"autoresearch/{TAG}",
        base="main",
        base_commit="f" * 40,
        target="cpu",
        rule="seed",
        min_gain=0.05,
        kernel="src/mjolnir_kernel/cpu_decode.py",
        config=config.judging_values(),
        config_hash=config.judging_hash(),
        harness_hash="a" * 64,
        created="2025-10-11T22:00:00+00:00",
    )


def code_of(call, *args):
    with pytest.raises(Refused) as refusal:
        call(*args)
    assert refusal.value.hint
    return refusal.value.code


def path_of(place):
    return place.common_dir / "mjolnir" / TAG / "run.json"


def test_what_init_froze_comes_back(place, state):
    write_run_state(place.common_dir, state)
    assert read_run_state(place.common_dir, TAG) == state
    assert list_tags(place.common_dir) == (TAG,)
    assert json.loads(path_of(place).read_text())["schema"] == "mjolnir.run/1"


def test_the_hash_is_the_configurations_own():
    assert hash_config(Config().judging_values()) == Config().judging_hash()


def test_a_run_is_frozen_once(place, state):
    write_run_state(place.common_dir, state)
    assert code_of(write_run_state, place.common_dir, replace(state, min_gain=0.0)) == "E_RUN"
    assert read_run_state(place.common_dir, TAG).min_gain == 0.05


def test_a_missing_run_is_refused(place):
    assert code_of(read_run_state, place.common_dir, TAG) == "E_RUN"
    assert list_tags(place.common_dir) == ()


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "[" * 100_000])
def test_a_damaged_run_is_refused(place, state, text):
    write_run_state(place.common_dir, state)
    path_of(place).write_text(text)
    assert code_of(read_run_state, place.common_dir, TAG) == "E_CONFIG"


def test_a_lowered_threshold_in_the_frozen_configuration_shows(place, state):
    write_run_state(place.common_dir, state)
    values = json.loads(path_of(place).read_text())
    values["config"]["targets"]["cpu"]["min_gain"] = 0.0
    path_of(place).write_text(json.dumps(values))
    assert code_of(read_run_state, place.common_dir, TAG) == "E_CONFIG"


def test_a_lowered_threshold_with_a_fitting_hash_shows_in_the_anchor(place, state):
    run_hash = write_run_state(place.common_dir, state)
    start_ledger(place.root, place.common_dir, tag=TAG, run_hash=run_hash)
    assert read_run_state(place.common_dir, TAG) == state
    values = json.loads(path_of(place).read_text())
    values["min_gain"] = 0.0
    path_of(place).write_text(json.dumps(values))
    assert code_of(read_run_state, place.common_dir, TAG) == "E_CONFIG"


def test_the_anchor_remembers_the_configuration_after_rows(place, state):
    from store_place import an_experiment

    run_hash = write_run_state(place.common_dir, state)
    ledger = start_ledger(place.root, place.common_dir, tag=TAG, run_hash=run_hash)
    ledger.append(an_experiment("one"))
    assert json.loads(place.anchor.read_text())["run_hash"] == run_hash
    assert read_run_state(place.common_dir, TAG) == state


def test_a_failed_init_can_be_taken_back_and_tried_again(place, state):
    start_ledger(place.root, place.common_dir, tag=TAG, run_hash=write_run_state(place.common_dir, state))
    remove_ledger(place.root, place.common_dir, tag=TAG)
    remove_run_state(place.common_dir, TAG)
    assert list_tags(place.common_dir) == ()
    assert not place.anchor.exists()
    assert not (place.common_dir / "mjolnir" / TAG).exists()
    write_run_state(place.common_dir, state)
