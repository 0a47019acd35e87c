"""`gitbot audit --propose`: a pull request that moves VMs whose own required terms do not hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitbot.snapshot import from_objects, write_snapshot
from tests.doubles.intents import CONFIGURATION
from tests.doubles.problems import HOSTNAME, node, vm
from tests.scenarios.small_clusters import REQUIRED, flat, kubevirt, machine
from tests.unit.cli.desk import Desk, at_desk

DB = {"app": "db"}
TERM = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": DB}}
APART: dict[str, Any] = {"podAntiAffinity": {REQUIRED: [TERM]}}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch, CONFIGURATION) as desk:
        yield desk


def audit(desk: Desk, *words: str, nodes: int = 3) -> str:
    """Three databases on n1 that must be apart, and what the audit says."""
    names = ("db-1", "db-2", "db-3")
    objects = flat(
        [
            kubevirt(),
            *(node(f"n{number}") for number in range(1, nodes + 1)),
            *(vm(name, on="n1", labels=DB, affinity=APART) for name in names),
            *(machine(name, affinity=APART) for name in names),
        ]
    )
    snapshot = from_objects(desk.loop.cluster.name, objects, desk.loop.cluster.now())
    file = desk.tree.parent / "cluster.json"
    file.write_bytes(write_snapshot(snapshot))
    return desk.gitbot("audit", "--snapshot", str(file), "--propose", *words).out


def test_of_vms_that_must_be_apart_all_but_one_move(desk: Desk) -> None:
    out = audit(desk)
    (pull,) = desk.loop.forge.list_pulls()
    assert pull.title == "Heal terms of 2 VMs: default/db-1, db-2"
    assert f"pull request #{pull.number}: {pull.title}; next: " in out
    desk.loop.person.fetch()
    data = desk.loop.person.read_blob(pull.head, "intents/iberia/default/heal-db-1.yaml")
    assert data is not None
    assert "names: [db-1, db-2]" in data.decode() or "- db-1\n    - db-2\n" in data.decode()
    assert "is open already" in audit(desk)
    assert len(desk.loop.forge.list_pulls()) == 1


def test_a_vm_that_cannot_move_is_named(desk: Desk) -> None:
    out = audit(desk, "--dry-run", nodes=2)
    assert "Heal terms of 1 VM: default/db-1\n" in out
    assert "default/db-2 keeps a term that does not hold: " in out
    assert desk.loop.forge.list_pulls() == ()
