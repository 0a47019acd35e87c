"""The customapp story on the real scheduler and the real controller manager, told with kubectl."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.kubernetes.objects import at
from gitbot.simulation.building import namespace as namespace_object
from gitbot.simulation.served_resources import BY_KIND
from tests.contracts.kubernetes_api.conftest import Kubectl
from tests.contracts.kubernetes_api.test_customapp_by_hand import (
    DATABASES,
    DRAIN,
    HIGH,
    Customapp,
    Story,
)
from tests.controlplane.desk import Desk
from tests.controlplane.journal import Journal
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.installation import KubeVirt, put
from tests.controlplane.plane import ControlPlane
from tests.controlplane.predictions import surprises
from tests.controlplane.waiting import eventually
from tests.doubles.customapp import NAMESPACE, database, jumpbox_machine, nodes

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("own_pace"),
]

PODS_OF_THE_STORY = 16  # 3 + 1 + 1 + 3 + 3 + 2 + 2, and the one of step 10 that stays without node


@pytest.fixture
def customapp(admin: Connection, kubelets: Kubelets, kubevirt: KubeVirt) -> Iterator[KubeVirt]:
    """The nodes and the namespace of the story."""
    kubelets.add(*nodes())
    put(admin, namespace_object(NAMESPACE))
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    eventually(lambda: admin.request("GET", account))
    yield kubevirt
    admin.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
    eventually(lambda: NAMESPACE not in names_of(admin, "Namespace"), seconds=60)


def names_of(admin: Connection, kind: str) -> list[str]:
    return [item["metadata"]["name"] for item in admin.list(path_of(BY_KIND[kind]))[0]]


def test_the_ten_steps_go_as_predicted(
    admin: Connection, customapp: KubeVirt, plane_kubectl: Kubectl, tmp_path: Path
) -> None:
    customapp.configure(evictionStrategy="None")
    customapp.controllers.set_dials(live_migratable=False)
    with Journal(admin) as journal:
        Customapp(story=Story(plane_kubectl)).play()
        journal.quiet()
    bindings = [
        each for each in journal.bindings() if each.pod["metadata"]["namespace"] == NAMESPACE
    ]
    extra = [
        {**item, "kind": "Namespace", "apiVersion": "v1"}
        for item in admin.list("/api/v1/namespaces")[0]
    ]
    wrong = surprises(bindings, extra, tmp_path)
    print(f"\ncustomapp: {len(bindings)} pods bound, {len(wrong)} elsewhere than predicted")
    assert wrong == []
    assert len(bindings) >= PODS_OF_THE_STORY - 1


RULE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: ZoneAntiAffinity
metadata: {name: mssql2016, namespace: customapp}
spec:
  selector: {matchLabels: {kubevirt.io/domain: mssql2016}}
  maxPerDomain: 1
"""
WINDOW = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: firmware}
spec:
  nodes: {names: [kni-worker]}
  schedule: {start: "START", timeZone: UTC, duration: PT4H}
  drain: {lead: PT1H, cordon: Gitbot, done: Rebooted}
  returnHome: Propose
"""


@pytest.fixture
def desk(gitbot_kubeconfig: Path, plane: ControlPlane, tmp_path: Path) -> Desk:
    """A repository for this cluster; gitbot has the rights of `deploy/rbac`."""
    return Desk(tmp_path / "desk", kubeconfig=gitbot_kubeconfig, cluster=plane.context)


@pytest.mark.usefixtures("customapp")
def test_healed_drained_and_brought_home(
    admin: Connection, plane_kubectl: Kubectl, kubelets: Kubelets, desk: Desk
) -> None:
    story = Story(plane_kubectl)
    start_jumpbox(admin, story)
    story.create(database(final=False))
    story.becomes(DATABASES, HIGH)
    story.do("drain", "kni-worker2", *DRAIN)  # KubeVirt evacuates its database
    story.do("uncordon", "kni-worker2")
    assert len(set(places(admin, "mssql2016"))) == 2, "two databases on one node"
    specs = {**specs_of(admin, "VirtualMachine"), **specs_of(admin, "VirtualMachineInstance")}
    desk.push({"databases.yaml": RULE})
    merge_what_is_proposed(desk, "heal")
    assert "1 succeeded" in desk.gitbot("apply")
    assert places(admin, "mssql2016") == HIGH

    soon = datetime.fromtimestamp(SystemClock().now(), UTC) + timedelta(minutes=30)
    desk.push({"window.yaml": WINDOW.replace("START", soon.strftime("%Y-%m-%dT%H:%M"))})
    merge_what_is_proposed(desk, "drain")
    assert "1 succeeded" in desk.gitbot("apply")
    assert places(admin, "jumpbox") != ["kni-worker"]
    node = admin.request("GET", "/api/v1/nodes/kni-worker")
    assert node["spec"]["unschedulable"] is True
    assert node["metadata"]["labels"]["placement.gitbot.dev/state"] == "ready"

    kubelets.reboot("kni-worker")
    desk.gitbot("apply")
    merge_what_is_proposed(desk, "return")
    assert "1 succeeded" in desk.gitbot("apply")
    assert places(admin, "jumpbox") == ["kni-worker"]
    node = admin.request("GET", "/api/v1/nodes/kni-worker")
    assert not at(node, "spec", "unschedulable")
    assert "nothing to do" in desk.gitbot("apply")
    desk.gitbot("ledger", "verify")
    found = {**specs_of(admin, "VirtualMachine"), **specs_of(admin, "VirtualMachineInstance")}
    assert found == specs, "the spec of a VM or VMI changed"


def merge_what_is_proposed(desk: Desk, kind: str) -> None:
    """`gitbot propose`, and the one pull request of that kind is merged."""
    desk.gitbot("propose")
    pulls = desk.open_pulls()
    (number,) = [each for each, branch in pulls.items() if f"/{kind}" in branch]
    desk.merge(number)


def start_jumpbox(admin: Connection, story: Story) -> None:
    """A VM without rules; it starts on kni-worker, as no other node is open."""
    others = [name for name in names_of(admin, "Node") if name != "kni-worker"]
    story.do("cordon", *others)
    put(admin, jumpbox_machine())
    eventually(lambda: places(admin, "jumpbox") == ["kni-worker"])
    story.do("uncordon", *others)


def places(admin: Connection, domain: str) -> list[str]:
    """The nodes of the running VMIs of a domain."""
    found = admin.list(
        path_of(BY_KIND["VirtualMachineInstance"], NAMESPACE),
        {"labelSelector": f"kubevirt.io/domain={domain}"},
    )[0]
    running = [vmi for vmi in found if at(vmi, "status", "phase") == "Running"]
    return sorted(vmi["status"]["nodeName"] for vmi in running)


def specs_of(admin: Connection, kind: str) -> dict[str, Any]:
    found = admin.list(path_of(BY_KIND[kind], NAMESPACE))[0]
    return {f"{kind}/{item['metadata']['name']}": item["spec"] for item in found}
