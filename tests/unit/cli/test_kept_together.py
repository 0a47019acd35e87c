"""Pairs that a rule keeps together, where a drain would move them in parts: the hint works."""

from pathlib import Path
from typing import Any

import pytest

from tests.doubles.problems import node, vm
from tests.unit.cli.test_field_plans import HEAD
from tests.unit.cli.test_holds_that_wait import asked

NEAR = """kind: PlacementRule
metadata: {name: near, namespace: default}
spec:
  selector: {matchLabels: {pair: web}}
  affinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {pair: web}}}
---
"""
DRAIN = """kind: MaintenanceWindow
metadata: {name: fw}
spec: {nodes: {names: [NODES]}, drain: {maxNodesAtOnce: 2}}
"""
REQUEST = """kind: MigrationRequest
metadata: {name: pair, namespace: default}
spec:
  vms: {names: [app, db]}
  target: {nodeSelector: {topology.kubernetes.io/zone: b}}
  pin: Node
"""
HINT = (
    "PlacementRule/default/near keeps app, db together: move them as one first, by a "
    "MigrationRequest for all of them with target.nodeSelector topology.kubernetes.io/zone: b and "
    "pin: Node"
)
PAIR = {"pair": "web"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def cluster(*, room: str = "64Gi", **fields: Any) -> list[Any]:
    """Zone a has no room for app on n2; zone b has `room` on each node."""
    return [
        node("n1", zone="a", memory="16Gi"),
        node("n2", zone="a", memory="8Gi"),
        node("n3", zone="b", memory=room),
        node("n4", zone="b", memory=room),
        vm("app", on="n1", labels=PAIR, memory="10Gi"),
        vm("db", on="n2", labels=PAIR, memory="6Gi", **fields),
    ]


def together(intent: str) -> str:
    return NEAR + HEAD + intent


def test_a_drain_of_both_nodes_at_once_moves_the_pair() -> None:
    said = asked("plan", together(DRAIN.replace("NODES", "n1, n2")), *cluster())
    assert (said.code, '"holds":[]' in said.out.replace(" ", "").replace("\n", "")) == (0, True)


def test_the_hint_names_a_request_that_moves_the_pair() -> None:
    said = asked("plan", together(DRAIN.replace("NODES", "n1")), *cluster())
    assert (said.code, HINT in said.out) == (1, True)
    said = asked("plan", together(REQUEST), *cluster())
    assert (said.code, '"holds":[]' in said.out.replace(" ", "").replace("\n", "")) == (0, True)


@pytest.mark.parametrize("fields", [{"room": "8Gi"}, {"migratable": False}])
def test_no_hint_where_such_a_request_would_be_held(fields: dict[str, Any]) -> None:
    said = asked("plan", together(DRAIN.replace("NODES", "n1")), *cluster(**fields))
    assert (said.code, "move them as one" in said.out) == (1, False)
