"""`gitbot plan` on shapes of real clusters: what a migration copies, and who waits before it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import ZONE, node, pod, vm
from tests.scenarios.small_clusters import kubevirt
from tests.unit.cli.desk import Said, typed

NOW = "2026-12-06T21:00:00Z"
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters: [{name: prod, timeZone: Etc/UTC}]
"""
HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
MOVE = """\
kind: MigrationRequest
metadata: {name: out, namespace: default}
spec: {vms: {selector: {matchLabels: {move: "yes"}}}, target: {node: n2}}
"""
DRAIN = """\
kind: MaintenanceWindow
metadata: {name: firmware}
spec: {nodes: {names: [n1]}, drain: {cordon: Gitbot}}
"""
ASKED = {"move": "yes"}


def plan(
    folder: Path,
    intent: str,
    *objects: KubernetesObject | tuple[KubernetesObject, ...],
    form: str = "table",
    configuration: str = CONFIGURATION,
) -> Said:
    """The plan of one intent in a repository of its own, at `NOW`."""
    items: list[Any] = []
    for item in objects:
        items.extend(item) if isinstance(item, tuple) else items.append(item)
    (folder / "intents" / "prod").mkdir(parents=True, exist_ok=True)
    (folder / "intents" / "prod" / "all.yaml").write_text(HEAD + intent)
    (folder / ".gitbot.yaml").write_text(configuration)
    (folder / "cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )
    return typed("plan", "--snapshot", "cluster.json", "--now", NOW, "-o", form)


def json_plan(folder: Path, intent: str, *objects: Any) -> dict[str, Any]:
    said = plan(folder, intent, *objects, form="json")
    found: dict[str, Any] = json.loads(said.out)
    return found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def migration(
    name: str, vmi: str, phase: str, condition: str = "", **status: Any
) -> KubernetesObject:
    conditions = [{"type": condition, "status": "True"}] if condition else []
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"vmiName": vmi},
        "status": {"phase": phase, "conditions": conditions, **status},
    }


def changing_storage(labels: Mapping[str, str]) -> tuple[KubernetesObject, ...]:
    """A VM of 2 GiB on n1 whose next migration copies 80 GiB to another claim."""
    vmi, pod = vm("db", on="n1", memory="2Gi", labels=labels)
    vmi["status"]["conditions"].append({"type": "VolumesChange", "status": "True"})
    vmi["status"]["migrationMethod"] = "BlockMigration"
    vmi["spec"]["volumes"] = [{"name": "scratch", "emptyDisk": {"capacity": "200Gi"}}]
    sizes = {"requests": {"storage": "80Gi"}, "capacity": {"storage": "81Gi"}}
    vmi["status"]["migratedVolumes"] = [
        {"volumeName": "root", "sourcePVCInfo": {"claimName": "old", **sizes}}
    ]
    return vmi, pod


def test_the_estimate_counts_the_volumes_that_the_next_migration_copies(tmp_path: Path) -> None:
    found = json_plan(tmp_path, MOVE, node("n1"), node("n2"), changing_storage(ASKED))
    (move,) = found["moves"]
    checks = {check["name"]: check for check in move["checks"]}
    assert move["estimatedSeconds"] == 20 + 82 * 1024 // 64
    assert checks["estimate"]["message"].startswith("1332 s: memory and root (80 GiB) once")
    assert checks["storage-migration"]["outcome"] == "warn"
    assert "scratch (200 GiB)" in checks["ephemeral-disks"]["message"]


def test_what_the_guest_wrote_to_a_container_disk_is_copied_and_said(tmp_path: Path) -> None:
    vmi, pod = vm("web", on="n1", memory="1Gi", labels=ASKED)
    vmi["status"]["migrationMethod"] = "BlockMigration"
    vmi["spec"]["volumes"] = [{"name": "os", "containerDisk": {"image": "fedora"}}]
    (move,) = json_plan(tmp_path, MOVE, node("n1"), node("n2"), vmi, pod)["moves"]
    (check,) = (check for check in move["checks"] if check["name"] == "ephemeral-disks")
    assert check["outcome"] == "pass"
    assert check["message"] == "what the guest wrote to os is copied as well, not estimated"


@pytest.mark.parametrize(
    ("cluster", "policy", "said"),
    [("zstd", None, True), (None, "zstd", True), ("zstd", "none", False), ("lzo", None, False)],
)
def test_the_estimate_says_that_kubevirt_compresses(
    tmp_path: Path, cluster: str | None, policy: str | None, said: bool
) -> None:
    configured = kubevirt(migrations={"experimental": {"compression": cluster}})
    matching = {
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy",
        "metadata": {"name": "all"},
        "spec": {"selectors": {}, "experimental": {"compression": policy}},
    }
    web = vm("web", on="n1", labels=ASKED)
    (move,) = json_plan(tmp_path, MOVE, node("n1"), node("n2"), configured, matching, web)["moves"]
    (check,) = (check for check in move["checks"] if check["name"] == "estimate")
    assert ("compressed by zstd, so it may take less" in check["message"]) is said


@pytest.mark.parametrize(
    ("kubelet", "words"),
    [
        ("v1.30.2", "that of kube-scheduler 1.36; 1.30 may decide otherwise"),
        ("v1.36.3", ""),
        ("v1.37.2", ""),
        ("v1.38.0", "that of kube-scheduler 1.37; 1.38 may decide otherwise"),
    ],
)
def test_a_plan_for_another_kubernetes_says_whose_verdict_it_is(
    tmp_path: Path, kubelet: str, words: str
) -> None:
    pool = [node("n1"), node("n2")]
    for each in pool:
        each["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    found = json_plan(tmp_path, MOVE, *pool, vm("web", on="n1", labels=ASKED))["findings"]
    said = [item["message"] for item in found if item["code"] == "plan/kubernetes-version"]
    assert said == [f"the verdict is {words}"] * bool(words)


def test_a_change_of_storage_that_was_cancelled_is_not_copied(tmp_path: Path) -> None:
    vmi, pod = changing_storage(ASKED)
    vmi["status"]["conditions"][-1]["status"] = "False"
    (move,) = json_plan(tmp_path, MOVE, node("n1"), node("n2"), vmi, pod)["moves"]
    assert move["estimatedSeconds"] == 20 + 2 * 1024 // 64


def test_a_drain_holds_a_vm_whose_move_would_end_a_change_of_storage(tmp_path: Path) -> None:
    said = plan(tmp_path, DRAIN, node("n1"), node("n2"), changing_storage({}))
    assert said.code == 1, said.text
    assert "the next migration copies volume root (80 GiB) [storage-migration]" in said.out
    assert "gitbot move vm/db -n default" in said.out


@pytest.mark.parametrize(("minutes", "late"), [(2, True), (30, False)])
def test_a_queue_that_outlasts_the_deadline_is_said(
    tmp_path: Path, minutes: int, late: bool
) -> None:
    """Twelve migrations of 16 GiB in front, four at once: about 13 minutes."""
    others = [vm(f"x{number}", on="n1", memory="16Gi") for number in range(12)]
    queue = [migration(f"m{number:02}", f"x{number}", "Running") for number in range(12)]
    nodes = [node("n1", memory="256Gi"), node("n2", memory="256Gi")]
    deadline = MOVE.replace("target", f'deadline: "2026-12-06T21:{minutes:02}:00Z", target')
    mine = vm("mine", on="n1", memory="1Gi", labels=ASKED)
    said = plan(tmp_path, deadline, kubevirt(), *nodes, *others, *queue, mine)
    assert said.code == 0, said.text
    assert "later behind the queue" in said.out
    assert ("behind the queue; its time ends Sun 2026-12-06 21:02" in said.out) is late
    assert ("plan/may-end-late" in said.out) is late


def test_migrations_that_a_quota_rejects_are_not_in_the_queue(tmp_path: Path) -> None:
    rejected = "migrationRejectedByResourceQuota"
    stuck = [migration(f"m{n}", f"q{n}", "Pending", rejected) for n in range(6)]
    others = [vm(f"q{n}", on="n3") for n in range(6)]
    pool = [node(name) for name in ("n1", "n2", "n3")]
    said = plan(tmp_path, MOVE, *pool, *others, *stuck, vm("web", on="n1", labels=ASKED))
    assert "queue now: empty: no migration runs or waits for a slot; 6 migrations" in said.out
    assert "default/q2 and 3 more (a ResourceQuota rejects its target pod)" in said.out
    assert "behind the queue" not in said.out


def test_files_without_a_kind_are_no_word_that_the_cluster_has_none(tmp_path: Path) -> None:
    """As of `kubectl get nodes,pods,vmi`: neither a queue nor settings are known."""
    pool: list[Any] = [node("n1"), node("n2"), vm("web", on="n1", labels=ASKED)]
    said = plan(tmp_path, MOVE, *pool)
    assert "queue now: the files have no migration; kubectl get virtualmachineinstance" in said.out
    assert "not known: the files have no KubeVirt" in said.out
    whole = plan(tmp_path, MOVE, *pool, kubevirt(), migration("old", "web", "Succeeded"))
    assert "queue now: empty: no migration runs or waits;" in whole.out
    assert "the files have no KubeVirt" not in whole.out
    assert "not known: the files have no MigrationPolicy" in whole.out


def test_migrations_of_others_hold_slots_until_they_end_and_not_longer(tmp_path: Path) -> None:
    """Four slots, three held for 36 s: one VM moves alone, then two at once to one node."""
    pool = [node(name) for name in ("n1", "n2", "n3", "n4", "n5", "n6")]
    others = [vm(f"q{n}", on="n5") for n in range(3)]
    running = [migration(f"m{n}", f"q{n}", "Running") for n in range(3)]
    mine = [vm(f"v{n}", on=f"n{n % 2 + 1}", labels=ASKED) for n in range(5)]
    target = MOVE.replace("target: {node: n2}", "pin: Node, target: {nodeSelector: {pool: new}}")
    for number in (2, 3):
        pool[number]["metadata"]["labels"]["pool"] = "new"
    found = json_plan(tmp_path, target, *pool, *others, *running, *mine)
    starts = sorted(move["starts"] for move in found["moves"])
    assert starts == [
        f"2026-12-06T21:{time}Z" for time in ("00:00", *["00:36"] * 2, *["01:12"] * 2)
    ]
    assert [item for item in found["findings"] if item["code"].startswith("replay/")] == []


PAIR = {"pair": "web"}
TOGETHER = """\
kind: PlacementRule
metadata: {name: together, namespace: default}
spec:
  selector: {matchLabels: {pair: web}}
  affinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {pair: web}}}
---
"""


def pair(**sizes: str) -> list[Any]:
    """`app` of 1 GiB and `db` on n1."""
    large = vm("db", on="n1", labels=PAIR, memory=sizes.get("db", "1Gi"))
    return [vm("app", on="n1", labels=PAIR), large]


def test_a_pair_that_stays_together_leaves_a_node_as_one(tmp_path: Path) -> None:
    pool = [node(name) for name in ("n1", "n2", "n3")]
    said = plan(tmp_path, f"{TOGETHER}{HEAD}{DRAIN}", *pool, *pair(db="8Gi"))
    assert said.code == 0, said.text
    assert (
        "together: app, db move as one: PlacementRule/default/together is broken from the first "
        "landing to the last, about 112 s\n"
    ) in said.out
    moves = json.loads(typed("plan", "--snapshot", "cluster.json", "--now", NOW, "-o", "json").out)
    assert len({(move["to"]["node"], move["wave"]) for move in moves["moves"]}) == 1
    rules = {check["name"]: check["message"] for check in moves["moves"][0]["checks"]}["rules"]
    assert rules == "every rule but PlacementRule/default/together is kept at every instant"


def test_pairs_move_as_one_to_a_node_of_the_drain_that_is_back(tmp_path: Path) -> None:
    """All nodes are emptied, one after the other; each pair is named."""
    pool = [node(name) for name in ("n1", "n2", "n3")]
    other = [vm(name, on="n2", labels=PAIR) for name in ("app2", "db2")]
    drain = DRAIN.replace("[n1]", "[n1, n2, n3]")
    said = plan(tmp_path, f"{TOGETHER}{HEAD}{drain}", *pool, *pair(), *other)
    assert said.code == 0, said.text
    assert "4 moves, 0 blocked" in said.out
    assert "together: app, db move as one" in said.out
    assert "together: app2, db2 move as one" in said.out
    assert "replay/" not in said.text


def test_a_pair_that_fits_on_no_node_as_one_stays(tmp_path: Path) -> None:
    pool = [node("n1"), node("n2", memory="6Gi"), node("n3", memory="6Gi")]
    said = plan(tmp_path, f"{TOGETHER}{HEAD}{DRAIN}", *pool, *pair(db="5500Mi"))
    assert said.code == 1, said.text
    assert "0 moves, 2 blocked" in said.out


def test_a_pair_of_which_only_one_is_asked_to_leave_is_told_how_to_move_as_one(
    tmp_path: Path,
) -> None:
    """A zone keeps three together; two are on the node that is emptied, and no plan moves these."""
    sizes = {"n1": "a", "n2": "a", "n3": "b", "n4": "b"}
    pool = [node(name, zone=zone, memory="11Gi") for name, zone in sizes.items()]
    homes = {"a1": "n1", "a2": "n1", "a3": "n2"}
    mine = [vm(name, on=on, labels=PAIR, memory="5Gi") for name, on in homes.items()]
    zonal = TOGETHER.replace("kubernetes.io/hostname", ZONE)
    said = plan(tmp_path, f"{zonal}{HEAD}{DRAIN}", *pool, *mine)
    assert "0 moves, 2 blocked" in said.out
    words = f"MigrationRequest for all of them with target.nodeSelector {ZONE}: b and pin: Node"
    assert words in said.out
    asked = MOVE.replace('selector: {matchLabels: {move: "yes"}}', "names: [a1, a2, a3]")
    there = f"pin: Node, target: {{nodeSelector: {{{ZONE}: b}}}}"
    asked = asked.replace("target: {node: n2}", there)
    said = plan(tmp_path, f"{zonal}{HEAD}{asked}", *pool, *mine)
    assert "3 moves, 0 blocked" in said.out, said.text


def test_a_zone_group_lands_on_two_nodes_of_the_drain_that_are_back(tmp_path: Path) -> None:
    """All nodes are emptied; those of zone b are empty, and take the group once they are back."""
    sizes = {"n1": "a", "n2": "a", "n3": "b", "n4": "b"}
    pool = [node(name, zone=zone, memory="11Gi") for name, zone in sizes.items()]
    homes = {"a1": "n1", "a2": "n1", "a3": "n2"}
    mine = [vm(name, on=on, labels=PAIR, memory="5Gi") for name, on in homes.items()]
    zonal = TOGETHER.replace("kubernetes.io/hostname", ZONE)
    drain = DRAIN.replace("[n1]", "[n1, n2, n3, n4]")
    said = plan(tmp_path, f"{zonal}{HEAD}{drain}", *pool, *mine)
    assert said.code == 0, said.text
    assert "3 moves, 0 blocked" in said.out
    assert said.out.count("n3, n4 is back") == 3
    assert "replay/" not in said.text


BETWEEN = MOVE.replace("target:", "allowBreach: PT10M, target:")
ONE_SLOT = "timeZone: Etc/UTC, limits: {parallel: 1, reserve: 0}"


def one_at_a_time(folder: Path, intent: str, form: str = "table") -> Said:
    """The plan that moves app, big and db one after the other: big goes between the pair."""
    asked = ASKED | PAIR
    pool = [node(name) for name in ("n1", "n2", "n3")]
    mine = [vm("app", on="n1", labels=asked), vm("db", on="n1", labels=asked, memory="8Gi")]
    big = vm("big", on="n1", labels=ASKED, memory="2Gi")
    slots = CONFIGURATION.replace("timeZone: Etc/UTC", ONE_SLOT)
    text = f"{TOGETHER}{HEAD}{intent}"
    return plan(folder, text, *pool, *mine, big, form=form, configuration=slots)


def test_a_pair_with_a_pause_between_is_held_with_the_field_that_allows_it(tmp_path: Path) -> None:
    said = one_at_a_time(tmp_path, MOVE)
    assert said.code == 1
    assert said.out.count("; write allowBreach: PT2M: they move as one, with a pause\n") == 2
    again = one_at_a_time(tmp_path, BETWEEN.replace("PT10M", "PT2M"))
    assert "3 moves, 0 blocked" in again.out
    short = one_at_a_time(tmp_path, BETWEEN.replace("PT10M", "PT1M"))
    assert "1 move, 2 blocked" in short.out


def test_a_pause_is_shown_and_denied_unless_an_exemption_allows_it(tmp_path: Path) -> None:
    said = one_at_a_time(tmp_path, BETWEEN)
    assert "the last, about 88 s, with a pause that allowBreach permits\n" in said.out
    assert said.code == 1
    assert "denied: 2 errors (policy/allow-breach)" in said.out
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "apart.yaml").write_text(
        f"{HEAD}kind: PlacementPolicyExemption\nmetadata: {{name: apart}}\n"
        'spec: {policy: allow-breach, reason: r, owner: ops, expires: "2027-01-01T00:00:00Z"}\n'
    )
    said = one_at_a_time(tmp_path, BETWEEN)
    assert said.code == 0, said.text
    assert "3 moves, 0 blocked" in said.out


def test_half_of_a_pair_is_not_moved_with_the_half_that_nothing_asks_for(tmp_path: Path) -> None:
    pool = [node(name) for name in ("n1", "n2")]
    one = MOVE.replace('selector: {matchLabels: {move: "yes"}}', "names: [app]")
    said = plan(tmp_path, f"{TOGETHER}{HEAD}{one}", *pool, *pair())
    assert "0 moves, 1 blocked" in said.out


def test_a_vm_that_its_own_spec_ties_to_another_is_named_with_what_a_person_does(
    tmp_path: Path,
) -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    tied = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pool = [node(name) for name in ("n1", "n2", "n3")]
    db = vm("db", on="n1", labels={"app": "db"})
    said = plan(tmp_path, DRAIN, *pool, db, vm("app", on="n1", affinity=tied))
    assert "its own spec ties it to default/virt-launcher-db on n1" in said.out, said.text
    assert "write a PlacementRule with that affinity instead" in said.out
    fixed = pod("db", on="n1", labels={"app": "db"})
    said = plan(tmp_path, DRAIN, *pool, fixed, vm("app", on="n1", affinity=tied))
    assert "delete the pod that does not migrate (default/db)" in said.out, said.text


SELECTED = """\
kind: MigrationRequest
metadata: {name: out, namespace: default}
spec: {vms: {names: [web]}, target: {nodeSelector: {accelerator: gpu123, rack: r1}}}
"""
OWN = {"accelerator": "gpu123", "rack": "r1"}


def racks() -> list[Any]:
    """Nodes n2 and n3 have the labels of `SELECTED`."""
    return [node("n1"), node("n2", labels=OWN), node("n3", labels=OWN), node("n4")]


def test_a_migration_asks_for_exactly_the_labels_of_the_target(tmp_path: Path) -> None:
    found = json_plan(tmp_path, SELECTED, *racks(), vm("web", on="n1"))
    (move,) = found["moves"]
    assert (move["pin"], move["addedNodeSelector"]) == ("None", OWN)
    assert move["allowedNodes"] == ["n2", "n3"]
    assert found["findings"] == []
    said = plan(tmp_path, SELECTED, *racks(), vm("web", on="n1"))
    assert "may land: default/web: n2, n3, as the scheduler chooses" in said.out


@pytest.mark.parametrize(
    ("pin", "key", "nodes"),
    [("Node", "kubernetes.io/hostname", 1), ("Zone", "topology.kubernetes.io/zone", 2)],
)
def test_a_pin_adds_its_label_to_those_of_the_target(
    tmp_path: Path, pin: str, key: str, nodes: int
) -> None:
    pool = racks()
    for item in pool:
        item["metadata"]["labels"]["topology.kubernetes.io/zone"] = "a"
    asked = SELECTED.replace("vms:", f"pin: {pin}, vms:")
    found = json_plan(tmp_path, asked, *pool, vm("web", on="n1"))
    (move,) = found["moves"]
    assert move["addedNodeSelector"].keys() == {*OWN, key}
    assert len(move["allowedNodes"]) == nodes
    assert found["findings"] == []


def test_labels_of_the_target_do_not_replace_those_of_the_vm(tmp_path: Path) -> None:
    """KubeVirt lets the VM's own value win, without a word."""
    web = vm("web", on="n1", node_selector={"accelerator": "none"})
    pool = racks()
    for item in pool:
        item["metadata"]["labels"].setdefault("accelerator", "none")
    said = plan(tmp_path, SELECTED, *pool, web)
    assert "[selector-collision]" in said.out, said.text


FROM = """\
kind: MigrationRequest
metadata: {name: out, namespace: default}
spec: {vms: {names: [web], from: n1}, target: {node: n2}}
"""


@pytest.mark.parametrize(("runs_on", "moves"), [("n1", 1), ("n3", 0)])
def test_a_request_moves_a_vm_only_from_where_it_expects_it(
    tmp_path: Path, runs_on: str, moves: int
) -> None:
    pool = [node(name) for name in ("n1", "n2", "n3")]
    said = plan(tmp_path, FROM, *pool, vm("web", on=runs_on))
    assert f"{moves} move{'s' * (not moves)}, 0 blocked" in said.out, said.text
    expected = "default/web runs on n3, and the request expects it on n1"
    assert (expected in said.text) == (runs_on == "n3")
    assert (said.code == 0) == bool(moves)


@pytest.mark.parametrize("names", ["names: [a, b]", "onNode: n1"])
def test_from_needs_one_name(tmp_path: Path, names: str) -> None:
    several = FROM.replace("names: [web]", names)
    said = plan(tmp_path, several, node("n1"), node("n2"), vm("a", on="n1"))
    assert "found from, expected it with one name" in said.text


CONTRADICTION = """\
kind: PlacementRule
metadata: {name: near, namespace: default}
spec:
  selector: {matchLabels: {pair: web}}
  affinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {pair: web}}}
---
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementRule
metadata: {name: apart, namespace: default}
spec:
  selector: {matchLabels: {pair: web}}
  antiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {pair: web}}}
"""


def test_required_rules_that_cannot_both_hold_fail_the_check(tmp_path: Path) -> None:
    plan(tmp_path, CONTRADICTION, node("n1"), node("n2"), *pair())
    said = typed("check", "--snapshot", "cluster.json", "--now", NOW)
    assert said.code == 1, said.text
    assert "these cannot all hold for app, db: PlacementRule/default/apart" in said.text
    assert "intents/contradiction" in said.text
    plan(tmp_path, TOGETHER.removesuffix("---\n"), node("n1"), node("n2"), *pair())
    said = typed("check", "--snapshot", "cluster.json", "--now", NOW)
    assert "intents/contradiction" not in said.text


def test_a_search_for_contradictions_that_gives_up_says_so(tmp_path: Path) -> None:
    """The search places at most 64 VMs."""
    fast = CONTRADICTION.partition("  affinity:")[0] + FAST
    for count in (64, 65):
        vms = [vm(f"v{number}", on="n1", labels={"pair": "web"}) for number in range(count)]
        plan(tmp_path, fast, node("n1"), node("n2", labels={"disk": "ssd"}), *vms)
        for command, code in (("check", "intents/undecided"), ("audit", "audit/undecided")):
            said = typed(command, "--snapshot", "cluster.json", "--now", NOW)
            assert (code in said.text) == (count == 65), said.text
            assert ("rules that cannot hold beside" in said.text) == (count == 65)


FAST = """\
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]
"""


@pytest.mark.parametrize(("ssd_on", "warns"), [(("n1",), True), (("n1", "n2"), False), ((), False)])
def test_a_move_that_newly_misses_the_vms_own_preference_warns(
    tmp_path: Path, ssd_on: tuple[str, ...], warns: bool
) -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    wish = {"nodeAffinity": {PREFERRED: [{"weight": 50, "preference": term}]}}
    pool = [node(n, labels={"disk": "ssd"} if n in ssd_on else {}) for n in ("n1", "n2")]
    found = json_plan(tmp_path, MOVE, *pool, vm("web", on="n1", labels=ASKED, affinity=wish))
    (move,) = found["moves"]
    said = [check["message"] for check in move["checks"] if check["name"] == "preference"]
    wanted = "the VM prefers disk in (ssd) (weight 50): n1 has that, n2 not"
    assert said == [wanted] * warns


NEAR = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}


@pytest.mark.parametrize(
    ("kind", "db_on", "words"),
    [
        ("podAffinity", "n1", "the VM prefers the company of default/db (weight 5): n2 does not"),
        ("podAffinity", "n2", ""),
        ("podAffinity", "", ""),
        ("podAntiAffinity", "n2", "the VM prefers to be apart from default/db (weight 5): both on"),
        ("podAntiAffinity", "n1", ""),
    ],
)
def test_a_move_that_newly_misses_a_wish_about_pods_warns(
    tmp_path: Path, kind: str, db_on: str, words: str
) -> None:
    wish = {kind: {PREFERRED: [{"weight": 5, "podAffinityTerm": NEAR}]}}
    db = [pod("db", on=db_on, labels={"app": "db"})] if db_on else []
    web = vm("web", on="n1", labels=ASKED, affinity=wish)
    (said,) = missed(tmp_path, node("n1"), node("n2"), web, *db) or [""]
    assert said.startswith(words)
    assert bool(said) == bool(words)


def test_a_move_that_newly_makes_a_soft_spread_uneven_warns(tmp_path: Path) -> None:
    spread = {
        "topologyKey": "kubernetes.io/hostname",
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": ASKED},
    }
    web = vm("web", on="n1", labels=ASKED, topology_spread=[spread])
    other = pod("other", on="n2", labels=ASKED)
    (said,) = missed(tmp_path, node("n1"), node("n2"), web, other)
    assert said.endswith("a skew of at most 1 over kubernetes.io/hostname: on n2 it is 2")
    assert not missed(tmp_path, node("n1"), node("n2"), web)


def missed(tmp_path: Path, *objects: Any) -> list[str]:
    (move,) = json_plan(tmp_path, MOVE, *objects)["moves"]
    return [check["message"] for check in move["checks"] if check["name"] == "preference"]


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("cpu-vendor.node.kubevirt.io/AMD: 'true'", "switches KubeVirt's own vendor check off"),
        ("kubevirt.io/schedulable: 'false'", "kubevirt.io/schedulable"),
    ],
)
def test_a_label_that_kubevirt_drops_or_that_disarms_it_is_held(
    tmp_path: Path, label: str, said: str
) -> None:
    key, _, value = label.partition(": ")
    pool = [node("n1"), node("n2", labels={key: value.strip("'")})]
    asked = MOVE.replace("target: {node: n2}", f"target: {{nodeSelector: {{{label}}}}}")
    answer = plan(tmp_path, asked, *pool, vm("web", on="n1", labels=ASKED))
    assert "0 moves, 1 blocked" in answer.out, answer.text
    assert said in answer.out
    assert "[selector-collision]" in answer.out


def test_vm_is_not_tied_to_pods_of_a_namespace_that_its_term_does_not_name(tmp_path: Path) -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    tied = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pool = [node(name) for name in ("n1", "n2", "n3")]
    elsewhere = vm("db", on="n1", namespace="shop", labels={"app": "db"})
    said = plan(tmp_path, DRAIN, *pool, elsewhere, vm("app", on="n1", affinity=tied))
    assert "2 nodes lack the pods that it must be near" in said.out, said.text
    assert "ties it to" not in said.out


@pytest.mark.parametrize(
    ("key", "warns"),
    [
        ("nodeutilization.descheduler.openshift.io/overutilized", True),
        ("nodeutilization.descheduler.openshift.io/appropriate", False),
    ],
)
def test_move_to_a_node_that_the_descheduler_calls_over_utilised_warns(
    tmp_path: Path, key: str, warns: bool
) -> None:
    full = node("n2", taints=[{"key": key, "value": "true", "effect": "PreferNoSchedule"}])
    found = json_plan(tmp_path, MOVE, node("n1"), full, vm("web", on="n1", labels=ASKED))
    (move,) = found["moves"]
    said = [check["message"] for check in move["checks"] if check["name"] == "over-utilised"]
    words = f"n2 is over-utilised for the cluster's descheduler (taint {key})"
    assert said == [f"{words}, which may evict the VM again"] * warns


def descheduler(**spec: Any) -> KubernetesObject:
    return {
        "apiVersion": "operator.openshift.io/v1",
        "kind": "KubeDescheduler",
        "metadata": {"name": "cluster", "namespace": "openshift-kube-descheduler-operator"},
        "spec": {"mode": "Automatic", "profiles": ["LongLifecycle"], **spec},
    }


@pytest.mark.parametrize(
    ("thresholds", "mode", "said"),
    [
        ("Medium", "Automatic", "memory 56.25 % (by requests) is above 50 %; it may evict VMs"),
        ("Medium", "Predictive", "is above 50 %; mode Predictive evicts none"),
        ("High", "Automatic", ""),
    ],
)
def test_a_target_that_the_descheduler_calls_over_utilised_has_a_warning(
    tmp_path: Path, thresholds: str, mode: str, said: str
) -> None:
    """With the VM that comes, n2 has 9 of 16 GiB taken: over 50 %, within 70 %."""
    pool = [node(name, memory="16Gi") for name in ("n1", "n2", "n3")]
    given = {"profileCustomizations": {"devLowNodeUtilizationThresholds": thresholds}}
    here = descheduler(mode=mode, **given)
    found = json_plan(tmp_path, MOVE, *pool, here, vm("db", on="n1", labels=ASKED, memory="9Gi"))
    over = [item for item in found["findings"] if item["code"] == "plan/over-utilised"]
    assert len(over) == bool(said)
    assert all(item["message"].startswith("after the plan, n2 is over") for item in over)
    assert all(said in item["message"] for item in over)
