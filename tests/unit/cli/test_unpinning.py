"""`gitbot audit --propose`: the pull request that removes forgotten pins, and what else to do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.snapshot import from_objects, write_snapshot
from tests.doubles.intents import CONFIGURATION
from tests.doubles.problems import HOSTNAME, node, vm
from tests.scenarios.small_clusters import flat, kubevirt, machine
from tests.unit.cli.desk import Desk, at_desk, merge

HERE = {HOSTNAME: "node-a"}
BY_NAME = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["node-a"]}]}
            ]
        }
    }
}
MANIFESTS = """\
# the shop
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: forgotten, namespace: default}
spec:
  template:
    spec:
      nodeSelector:
        kubernetes.io/hostname: node-a  # for tonight only
        # never on rust
        disk: ssd
      domain: {devices: {}}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: by-name, namespace: default}
spec:
  template:
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - key: kubernetes.io/hostname
                operator: In
                values: [node-a]
      domain: {devices: {}}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: live-only, namespace: default}
spec: {template: {spec: {domain: {devices: {}}}}}
"""
UNPINNED = MANIFESTS.replace(
    "        kubernetes.io/hostname: node-a  # for tonight only\n", ""
).replace(MANIFESTS[MANIFESTS.index("      affinity:\n") : MANIFESTS.index("[node-a]\n") + 9], "")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    settings = f"{CONFIGURATION}  manifests: [{{path: vms}}]\n"
    with at_desk(tmp_path, monkeypatch, settings) as desk:
        yield desk


def audit(desk: Desk, *words: str) -> str:
    objects = flat(
        [
            kubevirt(),
            node("node-a", labels={"disk": "ssd"}),
            vm("forgotten", on="node-a", node_selector={**HERE, "disk": "ssd"}),
            machine("forgotten", nodeSelector={**HERE, "disk": "ssd"}),
            vm("by-name", on="node-a", labels={"app": "by-name"}, affinity=BY_NAME),
            machine("by-name", affinity=BY_NAME),
            vm("live-only", on="node-a", node_selector=HERE),
            machine("live-only", nodeSelector=HERE),
            vm("next-start", on="node-a", node_selector=HERE),
            machine("next-start"),
            vm("alone", on="node-a", node_selector=HERE),
        ]
    )
    snapshot = from_objects(desk.loop.cluster.name, objects, desk.loop.cluster.now())
    file = desk.tree.parent / "cluster.json"
    file.write_bytes(write_snapshot(snapshot))
    said = desk.gitbot("audit", "--snapshot", str(file), "--propose", *words)
    assert said.code == 0, said.text
    return said.out


def commit(desk: Desk, text: str) -> None:
    (desk.tree / "vms").mkdir(exist_ok=True)
    (desk.tree / "vms" / "shop.yaml").write_text(text)
    desk.git("add", "vms")
    desk.git("commit", "-q", "-m", "shop")
    desk.git("push", "-q")


def test_pins_of_manifests_become_one_pull_request(desk: Desk) -> None:
    commit(desk, MANIFESTS)
    out = audit(desk)
    (pull,) = desk.loop.forge.list_pulls()
    assert (pull.author, pull.title) == ("Ann", "Unpin 2 VMs: default/by-name, default/forgotten")
    assert f"pull request #{pull.number}: {pull.title}; next: gitbot check " in out
    assert f"--pull-request {pull.number} --publish, then gitbot merge {pull.number}" in out
    desk.loop.person.fetch()
    assert desk.loop.person.read_blob(pull.head, "vms/shop.yaml") == UNPINNED.encode()
    assert "- default/forgotten from node-a: vms/shop.yaml" in pull.body
    assert f"`intents/{desk.loop.cluster.name}/default/by-name-on-node-a.yaml`" in pull.body
    assert "already" in audit(desk)
    assert len(desk.loop.forge.list_pulls()) == 1


def test_a_dry_run_shows_the_pull_request_and_opens_none(desk: Desk) -> None:
    commit(desk, MANIFESTS)
    out = audit(desk, "--dry-run")
    assert "Unpin 2 VMs: default/by-name, default/forgotten\n\n" in out
    assert f"# vms/shop.yaml\n{UNPINNED}" in out
    assert desk.loop.forge.list_pulls() == ()


def test_the_offered_rule_is_one_that_silences_the_audit(desk: Desk) -> None:
    commit(desk, MANIFESTS)
    audit(desk)
    (pull,) = desk.loop.forge.list_pulls()
    rule = pull.body.partition("```yaml\n")[2].partition("```")[0]
    desk.commit(**{"default/by-name-on-node-a": rule})
    names = audit(desk, "--rule", "audit/pin", "-o", "name").split()
    assert "virtualmachineinstance/forgotten" in names
    assert "virtualmachineinstance/by-name" not in names


def test_pins_of_no_manifest_are_told_what_to_type(desk: Desk) -> None:
    commit(desk, UNPINNED)
    out = audit(desk)
    assert desk.loop.forge.list_pulls() == ()
    patch = (
        "default/live-only: the pin is in no file, only in the cluster; type: kubectl patch vm "
        "live-only -n default --type=json -p "
        """'[{"op": "remove", "path": "/spec/template/spec/nodeSelector"}]'\n"""
    )
    assert patch in out
    assert "/spec/template/spec/nodeSelector/kubernetes.io~1hostname" in out
    assert "default/next-start: its VirtualMachine no longer asks for it" in out
    assert "default/alone: it has no VirtualMachine" in out


def test_after_the_merge_nothing_is_left_in_files(desk: Desk) -> None:
    commit(desk, MANIFESTS)
    audit(desk)
    (pull,) = desk.loop.forge.list_pulls()
    merge(desk, pull.number)
    assert "pull request" not in audit(desk)


def test_nothing_is_proposed_for_vms_that_were_not_asked_for(desk: Desk) -> None:
    commit(desk, MANIFESTS)
    assert audit(desk, "-n", "kubevirt").endswith("no pins were found: nothing to propose\n")
    assert desk.loop.forge.list_pulls() == ()
