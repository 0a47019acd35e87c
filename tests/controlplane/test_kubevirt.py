"""KubeVirt on the real API server beyond migrations: definitions, users' writes, readiness."""

from typing import Any

import pytest

from gitbot.kubernetes.objects import at, condition_of, labels_of
from gitbot.kubevirt import names
from gitbot.simulation.building import guest, instance_replica_set
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.status_errors import ApiError
from tests.contracts.kubernetes_api.conftest import Kubectl
from tests.controlplane.kubevirt.connection import path_of
from tests.controlplane.kubevirt.installation import KubeVirt, put
from tests.controlplane.vms import VM, VMI, Vms
from tests.controlplane.waiting import eventually

pytestmark = pytest.mark.controlplane

MERGE = "application/merge-patch+json"


def patched(vms: Vms, kind: str, name: str, body: Any) -> Any:
    path = path_of(BY_KIND[kind], vms.namespace, name)
    return vms.api.request("PATCH", path, body, content_type=MERGE)


def refused(vms: Vms, body: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        patched(vms, VMI, "one", body)
    return caught.value


def test_a_vm_starts_moves_and_stops(vms: Vms) -> None:
    source = vms.start("one")
    before = vms.get(VM, "one")["spec"]
    (pod,) = vms.pods("one")
    eventually(lambda: at(condition_of(vms.pods("one")[0], "Ready"), "status") == "True")
    made = vms.migrate("one", "m1", to="w3" if source != "w3" else "w2")
    assert made["metadata"]["labels"] == {names.VMI_NAME: "one"}
    assert made["metadata"]["finalizers"] == [names.MIGRATION_FINALIZER]
    assert vms.ends("m1") == "Succeeded"
    assert vms.node("one") == ("w3" if source != "w3" else "w2")
    assert vms.get(VM, "one")["spec"] == before
    eventually(lambda: at(_pod(vms, pod["metadata"]["name"]), "status", "phase") == "Succeeded")
    vms.api.request("DELETE", path_of(BY_KIND[VM], vms.namespace, "one"))
    eventually(lambda: not vms.all(VMI) and not vms.all("Pod"))


def _pod(vms: Vms, name: str) -> Any:
    return vms.get("Pod", name)


def test_what_users_may_not_write(vms: Vms) -> None:
    home = vms.start("one")
    answer = refused(vms, {"spec": {"nodeSelector": {"a": "b"}}})
    assert (answer.code, "update of VMI object is restricted" in answer.message) == (422, True)
    answer = refused(vms, {"metadata": {"labels": {names.NODE_NAME: "w9"}}})
    assert (answer.code, "reserved kubevirt.io/ labels" in answer.message) == (422, True)
    stored = patched(vms, VMI, "one", {"metadata": {"labels": {"team": "a"}}})
    assert labels_of(stored)["team"] == "a"
    stored = patched(vms, VMI, "one", {"status": {"nodeName": "w9"}})
    assert at(stored, "status", "nodeName") == home, "taken back without a word"


def test_unknown_fields_are_dropped_or_refused(vms: Vms) -> None:
    wanted = {
        "apiVersion": "kubevirt.io/v1",
        "kind": VMI,
        "metadata": {"name": "odd"},
        "spec": {"domain": guest(memory="1Gi"), "favouriteColour": "blue"},
    }
    path = path_of(BY_KIND[VMI], vms.namespace)
    stored = vms.api.request("POST", path, wanted, query={"dryRun": "All"})
    assert "favouriteColour" not in stored["spec"]
    with pytest.raises(ApiError) as caught:
        vms.api.request("POST", path, wanted, query={"dryRun": "All", "fieldValidation": "Strict"})
    assert caught.value.code == 400
    assert 'unknown field "spec.favouriteColour"' in caught.value.message
    domain = {key: value for key, value in guest(memory="1Gi").items() if key != "devices"}
    without = {**wanted, "spec": {"domain": domain}}
    with pytest.raises(ApiError) as caught:
        vms.api.request("POST", path, without, query={"dryRun": "All"})
    assert caught.value.code == 422
    assert "spec.domain.devices" in caught.value.message


def test_kubectl_shows_and_scales(vms: Vms, plane_kubectl: Kubectl) -> None:
    home = vms.start("one")
    labels = {"app": "web"}
    wanted = instance_replica_set(
        "web",
        namespace=vms.namespace,
        replicas=1,
        labels=labels,
        spec={"domain": guest(memory="1Gi")},
    )
    put(vms.api, wanted)
    header, line = plane_kubectl.ok(
        "get", "vmi", "one", "-n", vms.namespace, "-o", "wide"
    ).splitlines()
    assert header.split() == [
        "NAME", "AGE", "PHASE", "IP", "NODENAME", "READY", "LIVE-MIGRATABLE", "PAUSED",
    ]  # fmt: skip
    assert {"one", "Running", home, "True"} <= set(line.split())
    vms.migrate("one", "m1")
    assert vms.ends("m1") == "Succeeded"
    shown = plane_kubectl.ok("get", "vmim", "-n", vms.namespace)
    assert [row.split() for row in shown.splitlines()] == [
        ["NAME", "PHASE", "VMI"],
        ["m1", "Succeeded", "one"],
    ]
    plane_kubectl.ok("scale", "vmirs/web", "--replicas=3", "-n", vms.namespace)
    eventually(lambda: len(vms.all(VMI, "app=web")) == 3)
    ready = ("status", "readyReplicas")
    eventually(lambda: at(vms.get("VirtualMachineInstanceReplicaSet", "web"), *ready) == 3)


def test_a_disruption_budget_counts_launcher_pods(vms: Vms, kubevirt: KubeVirt) -> None:
    kubevirt.configure(evictionStrategy="None")
    vms.start("one")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": vms.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "one"}}},
    }
    put(vms.api, budget)
    eventually(lambda: at(vms.get("PodDisruptionBudget", "keep"), "status", "currentHealthy") == 1)
    (pod,) = vms.pods("one")
    path = path_of(BY_KIND["Pod"], vms.namespace, pod["metadata"]["name"], "eviction")
    about = {"name": pod["metadata"]["name"], "namespace": vms.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": about}
    with pytest.raises(ApiError) as caught:
        vms.api.request("POST", path, eviction)
    assert (caught.value.code, "disruption budget" in caught.value.message) == (429, True)
