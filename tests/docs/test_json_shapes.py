"""The JSON answers that the documents describe are the ones that the commands give."""

import json

import pytest

from docs.generator import COMMANDS, GENERATOR

pytest_plugins = ("doubles.fixtures",)


def documented_shape(path):
    return json.loads(GENERATOR.ANSWERS[path].json)


def compare(shape, found, place):
    """Every documented key is answered and every answered key documented; "..." and a key in words stand for any."""
    if isinstance(shape, list) and isinstance(found, list) and shape and isinstance(shape[0], dict):
        for item in found:
            compare(shape[0], item, place)
    elif isinstance(shape, dict) and isinstance(found, dict) and not {"L", "status", "stage", "..."} & set(shape):
        assert set(found) == set(shape), place
        for key, value in found.items():
            compare(shape[key], value, f"{place}.{key}")


@pytest.fixture(scope="module")
def json_shapes():
    return {path for path, answer in GENERATOR.ANSWERS.items() if answer.json}


def test_every_command_with_a_json_option_has_its_shape_in_the_documents(json_shapes):
    with_option = {path for path, c in COMMANDS.items() if any("--json" in p.opts for p in c.params)}
    assert with_option - json_shapes == {"mjolnir verify show"}
    assert not json_shapes - with_option


def test_the_json_answers_have_the_documented_keys(research):
    research.started()
    research.commit(speedup=1.3)
    for path, *words in (
        ("mjolnir autoresearch evaluate", "-m", "tiles"),
        ("mjolnir autoresearch ledger",),
        ("mjolnir autoresearch show", "2", "--diff"),
        ("mjolnir autoresearch calibrate", "--runs", "2"),
        ("mjolnir autoresearch recheck", "--runs", "2"),
        ("mjolnir autoresearch audit",),
        ("mjolnir autoresearch status",),
        ("mjolnir verify correctness", "--quick"),
        ("mjolnir verify sweep",),
        ("mjolnir verify list",),
        ("mjolnir doctor",),
        ("mjolnir explain",),
    ):
        said = research.call(*path.split()[1:], *words, "--json")
        shape = documented_shape(path)
        assert said.json is not None, (path, said.err)
        assert said.json["schema"] == shape["schema"]
        compare(shape, said.json, path)
