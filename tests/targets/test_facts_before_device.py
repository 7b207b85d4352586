"""What an evaluation on a GPU target is told before any device is asked."""

import pytest

from doubles.static_reports import WORKLOAD, report
from mjolnir.core.static_facts import StaticFailure
from mjolnir.targets import static_facts
from mjolnir.targets.protocol import KernelSource
from mjolnir.targets.static_facts import StaticRequest, facts_before_device

SOURCE = KernelSource(blob=b"", name="kernel.py", origin="f" * 40)
REQUEST = StaticRequest(arch="sm_110a", workload=WORKLOAD, lengths=(128,), q_dtypes=("bf16",))


@pytest.fixture
def told(monkeypatch):
    """`told(found)`: what an evaluation hears when this is what was found."""

    def go(found):
        monkeypatch.setattr(static_facts, "static_facts", lambda *args, **options: found)
        return facts_before_device(SOURCE, REQUEST, lambda step: None)

    return go


def test_a_kernel_with_facts_has_a_hash_and_a_label(told):
    facts = told(report())
    assert (facts.arch, facts.code_hash, facts.failure) == ("sm_110a", report().code_hash, None)
    assert facts.label.startswith("STATIC (no GPU): not a timing.")


def test_a_kernel_without_facts_is_a_crash_of_this_stage(told):
    facts = told(StaticFailure(kind="resources", detail="out of resource: shared memory", log="the whole text"))
    assert (facts.failure.stage, facts.failure.detail) == ("static", "out of resource: shared memory")
    assert facts.failure.log == "the whole text"
    assert facts.code_hash == ""
    assert "out of resource" in facts.label


@pytest.mark.parametrize("kind", ["raised", "refused", "unsupported"])
def test_host_code_that_needs_a_device_is_left_to_the_device(told, kind):
    facts = told(StaticFailure(kind=kind, detail="torch.cuda is not there"))
    assert (facts.failure, facts.code_hash) == (None, "")
    assert "no facts" in facts.label


def test_the_users_cache_decides_nothing(monkeypatch):
    asked = []

    def find(*args, **options):
        asked.append(options)
        return report()

    monkeypatch.setattr(static_facts, "static_facts", find)
    facts_before_device(SOURCE, REQUEST, lambda step: None)
    assert asked == [{"trusts_cache": False}]
