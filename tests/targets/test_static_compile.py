"""PTX to facts, with programs in the place of Triton's: what is read, remembered and refused."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from doubles.static_tools import assembler_calls, make_tools
from mjolnir.core.gpu_arch import ARCHES
from mjolnir.errors import EnvironmentFault, UsageFault
from mjolnir.targets import static_cache
from mjolnir.targets.static_answer import UnitAnswer
from mjolnir.targets.static_compile import CompilerError, compile_unit
from mjolnir.targets.static_tools import resolve_arch

SAMPLE = (Path(__file__).parents[1] / "fixtures" / "sass" / "attend-fp8-sm_110a.sass").read_text()
THOR = ARCHES["sm_110a"]
OPTIONS = ("-lineinfo", "-suppress-debug-info", "-v", "--regAllocOptLevel=2", "--gpu-name=sm_110a")


@pytest.fixture
def tools(tmp_path):
    return make_tools(tmp_path / "bin", SAMPLE)


def unit(ptx="// a program", **changes):
    values = {"tool": "ptxas-blackwell", "options": OPTIONS, "loop_dots": 2, **changes}
    return UnitAnswer(ptx=ptx, **values)


def test_registers_stack_spills_and_loop_are_read(tools):
    code = compile_unit(unit(), THOR, tools)
    assert (code.registers, code.stack_bytes, code.spill_bytes) == (118, 0, 20)
    assert code.mma["UTCQMMA"] > 0
    assert 0 < code.loop_instructions < code.instructions
    assert sum(code.mix.values()) == code.loop_instructions


def test_the_same_program_is_assembled_once(tools):
    first = compile_unit(unit(), THOR, tools)
    assert compile_unit(unit(), THOR, tools) == first
    assert len(assembler_calls(tools)) == 1


def test_what_decides_is_assembled_and_not_remembered(tools, monkeypatch):
    """Whoever is judged can write to the user's cache."""
    first = compile_unit(unit(), THOR, tools)
    monkeypatch.setattr(static_cache, "read_entry", lambda key: {**asdict(first), "registers": 1})
    assert compile_unit(unit(), THOR, tools).registers == 1
    assert compile_unit(unit(), THOR, tools, trusts_cache=False) == first


@pytest.mark.parametrize(
    "other",
    [{"ptx": "// another"}, {"options": (*OPTIONS, "--fmad=false")}, {"tool": "ptxas"}],
    ids=lambda other: next(iter(other)),
)
def test_another_text_option_or_assembler_is_assembled_anew(tools, other):
    compile_unit(unit(), THOR, tools)
    compile_unit(unit(**other), THOR, tools)
    assert len(assembler_calls(tools)) == 2


def test_another_version_of_the_assembler_is_assembled_anew(tools):
    compile_unit(unit(), THOR, tools)
    compile_unit(unit(), THOR, replace(tools, versions=dict.fromkeys(tools.versions, "13.5.0")))
    assert len(assembler_calls(tools)) == 2


@pytest.mark.parametrize("text", ["", "{", '{"registers": "many"}', "[]"])
def test_a_damaged_memory_is_as_if_there_were_none(tools, text):
    expected = compile_unit(unit(), THOR, tools)
    (entry,) = static_cache.cache_folder().glob("*.json")
    entry.write_text(text)
    assert compile_unit(unit(), THOR, tools) == expected
    assert len(assembler_calls(tools)) == 2


def test_a_cache_folder_that_cannot_be_written_costs_nothing_but_time(tools, monkeypatch, tmp_path):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert compile_unit(unit(), THOR, tools).registers == 118


def test_the_assembler_complains_in_its_own_words_cut_to_the_point(tools):
    words = "Instruction 'redux.f32' not supported on .target 'sm_110a'"
    with pytest.raises(CompilerError) as refused:
        compile_unit(unit(f"error {words}"), THOR, tools)
    assert str(refused.value).startswith(f"ptxas-blackwell: line 24; error : {words}")
    assert "kernel.ptx" not in str(refused.value)
    assert "info" not in str(refused.value)
    assert "Ptx assembly aborted" in refused.value.log


@pytest.mark.parametrize("option", ["-o", "--output-file=/tmp/x", "-optf", "--keep"])
def test_an_option_that_could_reach_a_file_is_refused(tools, option):
    with pytest.raises(CompilerError, match="not one that mjolnir passes on"):
        compile_unit(unit(options=(*OPTIONS, option)), THOR, tools)
    assert assembler_calls(tools) == []


def test_a_program_for_another_device_is_refused(tools):
    with pytest.raises(CompilerError, match="another device"):
        compile_unit(unit(options=("--gpu-name=sm_90a",)), THOR, tools)


def test_a_disassembler_that_cannot_read_it_is_this_machine_s_fault(tools):
    (tools.folder / "nvdisasm").write_text("#!/bin/sh\necho 'nvdisasm fatal: unknown' >&2; exit 1\n")
    with pytest.raises(EnvironmentFault, match=r"nvdisasm cannot read.*unknown"):
        compile_unit(unit(), THOR, tools)


def test_an_architecture_that_the_assembler_does_not_know_names_those_it_knows(tools):
    with pytest.raises(UsageFault) as refused:
        resolve_arch("sm_999a", tools)
    assert "triton 3.9.0 (ptxas 13.4.59) does not know it; it knows sm_75, sm_90a, sm_100a" in refused.value.message
    assert "sm_110a" in refused.value.hint


def test_an_architecture_without_a_known_device_is_refused(tools):
    with pytest.raises(UsageFault, match="sm_75"):
        resolve_arch("sm_75", tools)
    assert resolve_arch("sm_110a", tools) is THOR
