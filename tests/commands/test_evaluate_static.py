"""The step before a GPU, on a double of such a target: facts first, then the device, then whether it is new to it."""

import pytest

from doubles.research import CONFIG, KERNEL, Research

pytest_plugins = ("doubles.fixtures",)


def text(code="first", *, speedup=1.0, spelling="a", error="", outcome="measured"):
    """A kernel of machine code `code`; another `spelling` is another program to the parser alone."""
    constants = f"SPEEDUP = {speedup!r}\nOUTCOME = {outcome!r}\nCODE = {code!r}\n"
    constants += f"COMPILE_ERROR = {error!r}\n" if error else ""
    used = "SPEEDUP, OUTCOME, CODE" + (", COMPILE_ERROR" if error else "")
    return f"{constants}\n\ndef decode(*args, out):\n    out[0] = ({used}, {spelling!r})\n"


@pytest.fixture
def repository(research):
    research.write("mjolnir.toml", CONFIG.replace("scripted", "scripted_gpu"))
    research.write(KERNEL, text())
    research.git("commit", "-qam", "a kernel for a GPU")
    return research


@pytest.fixture
def gpu_lab(repository) -> Research:
    return repository.started("gpu")


def test_the_facts_are_told_and_written_on_the_row(gpu_lab):
    gpu_lab.commit(text("second", speedup=1.2))
    said = gpu_lab.evaluate()
    assert (said.code, said.json["status"]) == (0, "keep"), said
    assert "STATIC (no GPU): not a timing. code second" in said.err
    assert [row["params"]["static"]["code_hash"] for row in gpu_lab.rows()] == ["first", "second"]


def test_a_kernel_that_does_not_compile_is_a_crash_in_the_compilers_words(gpu_lab):
    gpu_lab.commit(text(error="ptxas fatal: too much shared memory"))
    said = gpu_lab.evaluate()
    assert (said.code, said.json["status"], said.json["rule"]) == (0, "crash", "stage_failed")
    assert "static failed: ptxas fatal: too much shared memory" in said.json["reason"]
    row = gpu_lab.rows()[-1]
    assert (row["verify_runs"], row["per_L"], row["correctness"]) == ({"correctness": None, "sweep": None}, {}, None)


@pytest.mark.parametrize("words", [(), ("--again",)])
def test_other_words_for_the_same_machine_code_are_refused_with_the_first_row(gpu_lab, words):
    gpu_lab.commit(text("second", speedup=1.01))
    assert gpu_lab.evaluate().json["status"] == "discard"
    gpu_lab.commit(text("second", speedup=1.01, spelling="b"))
    before = gpu_lab.state()
    said = gpu_lab.evaluate("the same again", *words)
    assert (said.code, said.json["error"]["code"], said.json["first"]["id"]) == (4, "E_SAME_PROGRAM", 2), said
    assert gpu_lab.state() == before


def test_the_baselines_machine_code_is_known_too(gpu_lab):
    gpu_lab.commit(text("first", spelling="b"))
    assert gpu_lab.evaluate().json["first"]["status"] == "baseline"


def test_the_same_text_may_be_measured_once_more_on_request(gpu_lab):
    gpu_lab.commit(text("second", speedup=1.01))
    gpu_lab.evaluate()
    assert gpu_lab.evaluate("again", "--again").json["attempt"] == 2


@pytest.mark.parametrize("outcome", ["incorrect", "crash"])
def test_host_code_that_is_mended_around_the_same_machine_code_is_measured(gpu_lab, outcome):
    gpu_lab.commit(text("second", speedup=1.2, outcome=outcome))
    assert gpu_lab.evaluate().json["score"] is None
    gpu_lab.commit(text("second", speedup=1.2))
    assert gpu_lab.evaluate().json["status"] == "keep"


def test_noisy_rows_do_not_make_machine_code_known(gpu_lab):
    gpu_lab.machine(unsteady="busy")
    gpu_lab.commit(text("second", speedup=1.01))
    assert gpu_lab.evaluate().json["status"] == "noisy"
    gpu_lab.machine()
    gpu_lab.commit(text("second", speedup=1.01, spelling="b"))
    assert gpu_lab.evaluate().json["status"] == "discard"


@pytest.mark.parametrize("error", ["", "ptxas fatal"])
def test_without_a_device_the_facts_are_told_and_nothing_else_happens(gpu_lab, error):
    gpu_lab.commit(text("second", speedup=1.2, error=error))
    gpu_lab.machine(fault="no device answers")
    before = gpu_lab.state()
    said = gpu_lab.evaluate()
    assert (said.code, said.json["error"]["code"]) == (2, "E_DEVICE")
    assert "STATIC" in said.err
    assert gpu_lab.state() == before


def test_a_starting_kernel_that_does_not_compile_makes_no_run(repository):
    repository.commit(text(error="ptxas fatal: no such instruction"))
    before = repository.state()
    said = repository.init("gpu")
    assert (said.code, repository.state()) == (1, before)
    assert "no such instruction" in said.err


def test_a_target_without_such_a_step_says_nothing_of_it(research):
    lab = research.started()
    lab.commit(speedup=1.2)
    said = lab.evaluate()
    assert "STATIC" not in said.err
    assert "static" not in lab.rows()[-1]["params"]
