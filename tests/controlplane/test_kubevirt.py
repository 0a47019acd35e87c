"""KubeVirt's API and rules on a real API server, played by the rules of room kubevirt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gitbot.kubevirt.new_migration import new_migration
from gitbot.model.objects import KubernetesObject, at
from gitbot.simulation.building import guest, machine, node
from gitbot.simulation.resources import BY_KIND
from gitbot.simulation.status import ApiError
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.installation import KubeVirt, put
from tests.controlplane.waiting import eventually

pytestmark = pytest.mark.controlplane

MIGRATION = "VirtualMachineInstanceMigration"
VMI = "VirtualMachineInstance"
VM = "VirtualMachine"
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def api(admin: Connection, kubelets: Kubelets, namespace: str, kubevirt: KubeVirt) -> Connection:
    """Three nodes in two zones; VM `one` runs on w1."""
    del kubevirt
    zones = {"w1": "a", "w2": "a", "w3": "b"}
    kubelets.add(*(node(name, labels={ZONE: zone}) for name, zone in zones.items()))
    return admin


def start(api: Connection, namespace: str, name: str, **spec: Any) -> None:
    """Start a VM and wait until it runs."""
    wanted = {"domain": guest(memory="1Gi"), **spec}
    put(api, machine(name, namespace=namespace, labels={"app": name}, spec=wanted))
    eventually(lambda: at(get(api, VMI, namespace, name), "status", "phase") == "Running")


def get(api: Connection, kind: str, namespace: str, name: str) -> KubernetesObject:
    return api.request("GET", path_of(BY_KIND[kind], namespace, name))


def node_of(api: Connection, namespace: str, name: str) -> str:
    return str(at(get(api, VMI, namespace, name), "status", "nodeName"))


def migrate(
    api: Connection, namespace: str, vmi: str, name: str, *, to: str = "", **query: str
) -> KubernetesObject:
    selector = {"kubernetes.io/hostname": to} if to else None
    wanted = new_migration(namespace=namespace, vmi_name=vmi, added_node_selector=selector)
    wanted["metadata"]["name"] = name
    return api.request("POST", path_of(BY_KIND[MIGRATION], namespace), wanted, query=query)


def ends(api: Connection, namespace: str, name: str) -> str:
    """The final phase of a migration."""
    return eventually(
        lambda: (
            phase
            if (phase := at(get(api, MIGRATION, namespace, name), "status", "phase"))
            in ("Succeeded", "Failed")
            else ""
        )
    )


def refused(action: Callable[[], object]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        action()
    return caught.value


def test_a_vm_starts_moves_and_stops(api: Connection, namespace: str) -> None:
    start(api, namespace, "one")
    source = node_of(api, namespace, "one")
    target = "w3" if source != "w3" else "w2"
    before = get(api, VM, namespace, "one")["spec"]
    made = migrate(api, namespace, "one", "m1", to=target)
    assert made["metadata"]["labels"] == {"kubevirt.io/vmi-name": "one"}
    assert made["metadata"]["finalizers"] == ["kubevirt.io/migrationJobFinalize"]
    assert ends(api, namespace, "m1") == "Succeeded"
    assert node_of(api, namespace, "one") == target
    assert get(api, VM, namespace, "one")["spec"] == before
    api.request("DELETE", path_of(BY_KIND[VM], namespace, "one"))
    eventually(lambda: not api.list(path_of(BY_KIND[VMI], namespace))[0])
