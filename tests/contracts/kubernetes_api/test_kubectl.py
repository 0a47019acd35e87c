"""The real kubectl, unchanged, on the HTTP face of the simulated cluster."""

import json
import signal
import subprocess
from typing import Any

import pytest

from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.contracts.kubernetes_api.conftest import Kubectl


def migration(name: str = "move", **spec: Any) -> str:
    document = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": name, "namespace": "customapp"},
        "spec": {"vmiName": "jumpbox", **spec},
    }
    return json.dumps(document)


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line]


def test_get_prints_tables(kubectl: Kubectl) -> None:
    rows = lines(kubectl.ok("get", "nodes,pods,vmi,vmim,vm", "-A"))
    assert ["NAME", "STATUS", "ROLES", "AGE", "VERSION"] in rows
    assert ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"] in rows
    assert ["NAMESPACE", "NAME", "AGE", "PHASE", "IP", "NODENAME", "READY"] in rows
    control_plane = next(row for row in rows if row[0] == "node/kni-control-plane")
    assert control_plane[1:3] == ["Ready", "control-plane"]
    jumpbox = next(row for row in rows if row[1].endswith("instance.kubevirt.io/jumpbox"))
    assert (jumpbox[0], jumpbox[3]) == ("customapp", "Running")
    assert "kni-worker" in jumpbox
    pods = [row for row in rows if "pod/virt-launcher" in row[1]]
    assert {tuple(row[2:4]) for row in pods} == {("1/1", "Running")}
    assert len(pods) == 4


def test_get_knows_short_names_selectors_wide_output_and_paging(kubectl: Kubectl) -> None:
    high = kubectl.ok("get", "no", "-l", "performance=high", "-o", "name")
    assert high.split() == ["node/kni-worker2", "node/kni-worker4", "node/kni-worker6"]
    some = kubectl.ok("get", "no", "-l", "performance!=high,kubevirt.io/schedulable", "-o", "name")
    assert some.split() == ["node/kni-worker", "node/kni-worker3", "node/kni-worker5"]
    where = ("--field-selector", "spec.nodeName=kni-worker2")
    assert len(kubectl.ok("get", "po", "-A", *where, "-o", "name").split()) == 1
    wide = kubectl.ok("get", "vmis", "-n", "customapp", "-o", "wide")
    assert "LIVE-MIGRATABLE" in wide.splitlines()[0]
    paged = lines(kubectl.ok("get", "nodes", "--chunk-size=2"))
    assert len(paged) == 8


def test_create_validates_like_the_server_does(kubectl: Kubectl, cluster: SimulatedCluster) -> None:
    cluster.set_dials(copy_minimum=3600)  # the first migration is still in flight at the second
    dry = kubectl.ok("create", "--dry-run=server", "-o", "name", "-f", "-", stdin=migration())
    assert dry.strip() == "virtualmachineinstancemigration.kubevirt.io/move"
    assert kubectl.ok("get", "vmim", "-A", "-o", "name") == ""
    typo = kubectl.run("create", "-f", "-", stdin=migration(addedNodeSelectr={"a": "b"}))
    assert typo.returncode == 1
    assert 'unknown field "spec.addedNodeSelectr"' in typo.stderr
    lax = kubectl.run("create", "--validate=warn", "-f", "-", stdin=migration(typo="x"))
    assert lax.returncode == 0
    assert 'unknown field "spec.typo"' in lax.stderr
    again = kubectl.run("create", "-f", "-", stdin=migration("other"))
    assert again.returncode == 1
    assert "in-flight migration detected" in again.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vmiName": "absent"}, 'the VMI "customapp/absent" does not exist'),
        ({"priority": "system-critical"}, "only virt-controller is allowed to set priority"),
    ],
)
def test_webhooks_refuse_through_kubectl(
    kubectl: Kubectl, change: dict[str, str], message: str
) -> None:
    refused = kubectl.run("create", "-f", "-", stdin=migration(**change))
    assert refused.returncode == 1
    assert message in refused.stderr


def test_a_migration_is_created_watched_to_its_end_and_deleted(kubectl: Kubectl) -> None:
    target = {"kubernetes.io/hostname": "kni-worker5"}
    watch = subprocess.Popen(
        kubectl.command("get", "vmim", "-n", "customapp", "-w"),
        stdout=subprocess.PIPE,
        text=True,
        env=kubectl.environment(),
    )
    try:
        kubectl.ok("create", "-f", "-", stdin=migration(addedNodeSelector=target))
        done = kubectl.ok(
            "wait", "vmim/move", "-n", "customapp", "--for=jsonpath={.status.phase}=Succeeded"
        )
        assert "condition met" in done
        assert watch.stdout is not None
        seen: list[list[str]] = []
        while ["move", "Succeeded", "jumpbox"] not in seen:
            seen.append(watch.stdout.readline().split())
    finally:
        watch.send_signal(signal.SIGTERM)
        watch.communicate(timeout=30)
    assert seen[0] == ["NAME", "PHASE", "VMI"]
    assert seen.count(["NAME", "PHASE", "VMI"]) == 1
    assert ["move", "Running", "jumpbox"] in seen
    node = kubectl.ok(
        "get", "vmi", "jumpbox", "-n", "customapp", "-o", "jsonpath={.status.nodeName}"
    )
    assert node == "kni-worker5"
    kubectl.ok("delete", "vmim", "move", "-n", "customapp")
    assert kubectl.ok("get", "vmim", "-A", "-o", "name") == ""


def test_drain_evicts_and_the_vms_move(kubectl: Kubectl, cluster: SimulatedCluster) -> None:
    drained = kubectl.run(
        "drain", "kni-worker2", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s"
    )
    assert drained.returncode == 0, drained.stderr
    assert 'Eviction triggered evacuation of VMI "customapp/mssql2016' in drained.stderr
    rows = lines(kubectl.ok("get", "nodes"))
    assert next(row[1] for row in rows if row[0] == "kni-worker2") == "Ready,SchedulingDisabled"
    placed = kubectl.ok(
        "get", "vmi", "-n", "customapp", "-o", "jsonpath={.items[*].status.nodeName}"
    )
    assert sorted(placed.split()) == ["kni-worker", "kni-worker4", "kni-worker6", "kni-worker6"]
    kubectl.ok("uncordon", "kni-worker2")
    spec = kubectl.ok("get", "node", "kni-worker2", "-o", "jsonpath={.spec}")
    assert spec == "{}"


def test_nodes_are_labelled_tainted_and_annotated(kubectl: Kubectl) -> None:
    kubectl.ok("label", "node", "kni-worker", "placement.gitbot.dev/state=draining")
    kubectl.ok("annotate", "node", "kni-worker", "a=b")
    kubectl.ok("taint", "node", "kni-worker", "key=value:NoSchedule")
    node = json.loads(kubectl.ok("get", "node", "kni-worker", "-o", "json"))
    assert node["metadata"]["labels"]["placement.gitbot.dev/state"] == "draining"
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "scu"
    assert node["spec"]["taints"] == [{"key": "key", "value": "value", "effect": "NoSchedule"}]
    kubectl.ok("label", "node", "kni-worker", "placement.gitbot.dev/state-")
    kubectl.ok("taint", "node", "kni-worker", "key-")
    node = json.loads(kubectl.ok("get", "node", "kni-worker", "-o", "json"))
    assert "placement.gitbot.dev/state" not in node["metadata"]["labels"]
    assert "taints" not in node["spec"]


def test_apply_creates_changes_and_explains(kubectl: Kubectl) -> None:
    def hold(reason: str) -> str:
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "gitbot-hold", "namespace": "default"},
                "data": {"reason": reason},
            }
        )

    assert "created" in kubectl.ok("apply", "-f", "-", stdin=hold("a"))
    assert "configured" in kubectl.ok("apply", "-f", "-", stdin=hold("b"))
    assert "unchanged" in kubectl.ok("apply", "-f", "-", stdin=hold("b"))
    assert "applied" in kubectl.ok("apply", "--server-side", "--force-conflicts", "-f", "-",
                                   stdin=hold("c"))  # fmt: skip
    read = kubectl.ok("get", "cm", "gitbot-hold", "-o", "jsonpath={.data.reason}")
    assert read == "c"
    assert "addedNodeSelector" in kubectl.ok("explain", "vmim.spec")


def test_a_stop_flag_is_set_and_removed_by_hand(kubectl: Kubectl) -> None:
    kubectl.ok("create", "namespace", "gitbot")
    flag = ("configmap", "gitbot-hold", "-n", "gitbot")
    kubectl.ok("create", *flag, "--from-literal=reason=night shift")
    read = kubectl.ok("get", *flag, "-o", "jsonpath={.data.reason}")
    assert read == "night shift"
    twice = kubectl.run("create", *flag, "--from-literal=reason=again")
    assert "already exists" in twice.stderr
    kubectl.ok("delete", "namespace", "gitbot")
    assert kubectl.run("get", *flag).returncode == 1


def test_discovery_and_errors(kubectl: Kubectl) -> None:
    names = kubectl.ok("api-resources", "--api-group=kubevirt.io", "-o", "name").split()
    assert "virtualmachineinstancemigrations.kubevirt.io" in names
    assert "v1.36.3" in kubectl.ok("version")
    assert kubectl.ok("auth", "can-i", "create", "vmim").strip() == "yes"
    missing = kubectl.run("get", "vmim", "absent", "-n", "customapp")
    assert missing.returncode == 1
    text = 'virtualmachineinstancemigrations.kubevirt.io "absent" not found'
    assert f"Error from server (NotFound): {text}" in missing.stderr
    assert "kni-worker" in kubectl.ok("describe", "vmi", "jumpbox", "-n", "customapp")
