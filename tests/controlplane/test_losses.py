"""What is predicted of a lost node and a lost zone is what the real scheduler then does."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gitbot.constraints.failure.node_loss import LossSimulation
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.simulation.building import node
from gitbot.wiring.clusters import open_cluster
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection
from tests.controlplane.kubevirt.installation import KubeVirt
from tests.controlplane.plane import ControlPlane
from tests.controlplane.vms import Vms
from tests.controlplane.waiting import eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(300)]

ZONE = "topology.kubernetes.io/zone"
ZONES = {"w1": "a", "w2": "a", "w3": "b", "w4": "b"}


@pytest.fixture
def vms(admin: Connection, kubelets: Kubelets, kubevirt: KubeVirt, namespace: str) -> Vms:
    """Four nodes in two zones, and three VMs that stay apart by node: no two places are equal."""
    del kubevirt
    kubelets.add(*(node(name, labels={ZONE: zone}) for name, zone in ZONES.items()))
    found = Vms(admin, namespace)
    term = {
        "labelSelector": {"matchLabels": {"app": "db"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for name in ("db-1", "db-2", "db-3"):
        found.start(name, {"app": "db"}, affinity=apart)
    return found


@pytest.mark.parametrize("level", ["node", "zone"])
def test_a_lost_node_or_zone_on_the_real_scheduler(
    vms: Vms, kubelets: Kubelets, plane: ControlPlane, gitbot_kubeconfig: Path, level: str
) -> None:
    """The nodes are fenced: cordoned, silent, and their pods are gone."""

    def look() -> ClusterSnapshot:
        return open_cluster(
            name=plane.context, kubeconfig=str(gitbot_kubeconfig), context=plane.context, load=None
        ).snapshot()

    before = look()
    homes = dict(Instances.of(before).homes)
    first = min(homes.values())
    lost = [name for name, zone in ZONES.items() if name == first or level == "zone"]
    lost = [name for name in lost if ZONES[name] == ZONES[first]]
    loss = LossSimulation(before).of(lost)
    assert loss.restarts
    for name in lost:
        cordon = {"spec": {"unschedulable": True}}
        merge = "application/merge-patch+json"
        vms.api.request("PATCH", f"/api/v1/nodes/{name}", cordon, content_type=merge)
        kubelets.hold(name)
    gone = {vm.name for vm, home in homes.items() if home in lost}
    for name in gone:
        for pod in vms.pods(name):
            path = f"/api/v1/namespaces/{vms.namespace}/pods/{pod['metadata']['name']}"
            vms.api.request("DELETE", path, query={"gracePeriodSeconds": "0"})
    landed = sorted(item.to for item in loss.restarts if item.to)

    def again() -> bool:
        found = Instances.of(look()).homes
        return sorted(found[vm] for vm in found if vm.name in gone) == landed

    eventually(again, seconds=60)
    after = Instances.of(look()).homes
    assert len(homes) - len(after) == len(loss.pending)
    assert _left(after, gone) == _left(homes, gone)


def _left(homes: Mapping[NamespacedName, str], gone: set[str]) -> dict[str, str]:
    return {vm.name: home for vm, home in homes.items() if vm.name not in gone}
