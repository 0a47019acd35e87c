"""deploy/rbac on a real API server: what doctor finds, and what a node's patch may change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gitbot.adapters.kubernetes.diagnosis import ClusterQuestions
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.model.objects import at
from gitbot.simulation.building import node
from tests.controlplane import account
from tests.controlplane.waiting import eventually

if TYPE_CHECKING:
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection
    from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def installed(plane: ControlPlane, admin: Connection) -> ControlPlane:
    account.install(admin)
    return plane


def transport(plane: ControlPlane, admin: Connection, path: Path, name: str) -> Transport:
    config = account.kubeconfig(plane, admin, path / f"{name}.kubeconfig", name)
    return Transport(kubeconfig=str(config))


def test_the_diagnosis_knows_the_accounts_apart(
    installed: ControlPlane, admin: Connection, tmp_path: Path
) -> None:
    mover = ClusterQuestions(transport(installed, admin, tmp_path, account.MOVER))
    reader = ClusterQuestions(transport(installed, admin, tmp_path, account.READER))
    eventually(lambda: _has_everything(mover))
    assert reader.missing("read") == reader.missing("stop-flag") == ()
    assert len(reader.missing("move")) == 2
    assert reader.missing("nodes") == ("patch nodes",)
    assert mover.excess() == reader.excess() == ()


def _has_everything(questions: ClusterQuestions) -> bool:
    groups = ("read", "stop-flag", "move", "nodes")
    return all(questions.missing(group) == () for group in groups)


LABEL = "placement.gitbot.dev/window"
PATCHES: list[tuple[dict[str, Any], bool]] = [
    ({"spec": {"unschedulable": True}}, True),
    ({"metadata": {"labels": {LABEL: "firmware"}}}, True),
    ({"metadata": {"labels": {LABEL: None}}}, True),
    ({"metadata": {"labels": {"team": "mine"}}}, False),
    ({"metadata": {"labels": {"kubernetes.io/hostname": "another"}}}, False),
    ({"metadata": {"labels": {"kubernetes.io/hostname": None}}}, False),
    ({"metadata": {"annotations": {"note": "x"}}}, False),
    ({"spec": {"taints": [{"key": "gitbot", "effect": "NoExecute"}]}}, False),
]


def test_of_a_node_only_what_a_maintenance_needs_may_change(
    installed: ControlPlane, admin: Connection, kubelets: Kubelets, tmp_path: Path
) -> None:
    kubelets.add(node("guarded"))
    mover = transport(installed, admin, tmp_path, account.MOVER)

    def patch(body: dict[str, Any]) -> int:
        path, kind = "/api/v1/nodes/guarded", "application/merge-patch+json"
        return mover.write("PATCH", path, body, content_type=kind).status

    def in_force() -> bool:  # rights and policies each take effect a moment after they were made
        allowed, refused = PATCHES[0][0], {"metadata": {"labels": {"probe": "x"}}}
        return patch(allowed) == 200 and patch(refused) in (403, 422)

    eventually(in_force)
    assert [(body, patch(body) == 200) for body, _ in PATCHES] == PATCHES
    found = admin.request("GET", "/api/v1/nodes/guarded")
    assert "team" not in at(found, "metadata", "labels")
    assert at(found, "spec", "unschedulable") is True
