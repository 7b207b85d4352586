"""An audit while an evaluation runs: it waits for nothing, writes nothing, and sees whole rows only."""

from __future__ import annotations

import subprocess
import sys

from doubles.research import Hold

pytest_plugins = ("doubles.fixtures",)


def test_an_audit_beside_a_running_evaluation_finds_nothing_and_holds_nothing_up(research):
    research.started("oct11", "--rule", "seed")
    research.commit(speedup=1.3)
    held = Hold(research, "sweep")
    said = research.call("autoresearch", "audit", "--json")
    assert (said.code, said.json["ok"], said.json["rows"]) == (0, True, 1), said.out
    assert held.go().code == 0
    said = research.call("autoresearch", "audit", "--json")
    assert (said.code, said.json["rows"]) == (0, 2), said.out


def test_audits_in_a_row_beside_appends_never_see_half_a_row(research):
    research.started("oct11", "--rule", "seed")
    program = (
        "from dataclasses import replace\nfrom pathlib import Path\n"
        "from mjolnir.store.git import Git\nfrom mjolnir.store.ledger import open_ledger\n"
        "git = Git.find(Path.cwd())\nledger = open_ledger(git.root, git.common_dir, tag='oct11')\n"
        "row = ledger.row(1)\n"
        "for n in range(40):\n"
        "    row = replace(row, verify_runs={}, hypothesis=str(n))\n"
        "    git.pin('oct11', ledger.append(row).id, row.commit_full)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], cwd=research.root)
    seen = []
    while child.poll() is None:
        answer = research.call("autoresearch", "audit", "--json").json
        seen += [f for f in answer["findings"] if f["code"] in ("E_LEDGER", "E_ANCHOR", "E_PIN")]
    assert child.wait() == 0
    assert seen == []
    assert len(research.rows()) == 41
