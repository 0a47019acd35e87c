"""A pair that a rule keeps together, from a pull request to its new node, in the simulator."""

from pathlib import Path

import pytest

from gitbot.simulation.building import guest, kubevirt, machine, namespace
from gitbot.simulation.scenes import NAMESPACE, nodes
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.doubles.intents import CONFIGURATION, HEAD
from tests.doubles.problems import ZONE
from tests.scenarios.loop import Loop

RULE = f"""{HEAD}kind: PlacementRule
metadata: {{name: together, namespace: {NAMESPACE}}}
spec:
  selector: {{matchLabels: {{pair: web}}}}
  affinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{pair: web}}}}}}
"""
MOVE = f"""{HEAD}kind: MigrationRequest
metadata: {{name: pair, namespace: {NAMESPACE}}}
spec: {{vms: {{names: [app, db]}}, target: {{node: kni-worker3}}}}
"""


OUT = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: out}}
spec:
  nodes: {{names: [kni-worker, kni-worker2]}}
  drain: {{cordon: Gitbot, maxNodesAtOnce: 2}}
"""
SLOW = MOVE.replace("app, db]", "app, big, db]").replace("target:", "allowBreach: PT10M, target:")
APART = f"""{HEAD}kind: PlacementPolicyExemption
metadata: {{name: apart}}
spec: {{policy: allow-breach, reason: r, owner: ops, expires: "2027-01-01T00:00:00Z"}}
"""


def pair(*more: str) -> SimulatedCluster:
    """`app` and `db` on kni-worker, of different sizes, and other VMs."""
    cluster = SimulatedCluster(start_time=1_764_547_200, name="iberia")
    others = [f"kni-worker{number}" for number in range(2, 7)]
    cluster.load([kubevirt(evictionStrategy="LiveMigrate")])
    cluster.apply([*nodes(), namespace(NAMESPACE)])
    for node in others:
        cluster.cordon(node)
    sizes = {"app": "2Gi", "db": "6Gi"}
    for name, memory in {**sizes, **dict.fromkeys(more, "3Gi")}.items():
        spec = {"domain": guest(memory=memory, requests=False)}
        labels = {"kubevirt.io/domain": name, "pair": "web" if name in sizes else name}
        cluster.apply([machine(name, namespace=NAMESPACE, labels=labels, spec=spec)])
    cluster.settle()
    for node in others:
        cluster.cordon(node, unschedulable=False)
    return cluster


@pytest.mark.parametrize("parallel", [4, 1])
def test_a_pair_goes_to_its_new_node_as_one(tmp_path: Path, parallel: int) -> None:
    """With one slot, the first lands before the second starts: a pass judges both together."""
    zone = "timeZone: Europe/Madrid\n"
    limits = f"{zone}    limits: {{parallel: {parallel}, reserve: 0}}\n"
    loop = Loop.start(tmp_path, pair(), configuration=CONFIGURATION.replace(zone, limits))
    assert set(loop.where().values()) == {"kni-worker"}
    loop.commit({"rule.yaml": RULE})
    pull = loop.open({"move.yaml": MOVE})
    published = loop.publish(pull.number)
    assert not published.check.fails(), published.check.findings
    loop.merge(pull.number)
    loop.apply()
    assert set(loop.where().values()) == {"kni-worker3"}, "\n".join(loop.lines)


def test_a_pair_goes_with_the_pause_that_the_request_allows(tmp_path: Path) -> None:
    """With one slot, another VM goes between the two: each pass judges what is left as one."""
    zone = "timeZone: Europe/Madrid\n"
    limits = f"{zone}    limits: {{parallel: 1, reserve: 0}}\n"
    loop = Loop.start(tmp_path, pair("big"), configuration=CONFIGURATION.replace(zone, limits))
    loop.commit({"rule.yaml": RULE})
    pull = loop.open({"move.yaml": SLOW})
    denied = loop.publish(pull.number).check
    assert {item.code for item in denied.findings if item.severity == "error"} == {
        "policy/allow-breach"
    }
    loop.person.fetch()
    start = loop.person.resolve("main")
    assert start is not None
    loop.person.write_commit(
        branch="main",
        expected=start,
        files={"policies/apart.yaml": APART.encode()},
        message="Allow it",
        time=loop.port.now(),
        parents=(start,),
    )
    published = loop.publish(pull.number)
    assert not published.check.fails(), published.check.findings
    loop.cluster.advance(60)  # a merge in the second of a first good plan approves nothing
    loop.merge(pull.number)
    loop.apply()
    assert set(loop.where().values()) == {"kni-worker3"}, "\n".join(loop.lines)


@pytest.mark.parametrize("most", [1, 2])
def test_a_pair_on_two_nodes_leaves_a_zone_as_one(tmp_path: Path, most: int) -> None:
    """Neither node takes both, and their zone is emptied: both go in the turn of the first.

    The second node has its own turn: after the first is back, or at once if two may be away.
    """
    cluster = SimulatedCluster(start_time=1_764_547_200, name="iberia")
    cluster.load([kubevirt(evictionStrategy="LiveMigrate")])
    cluster.apply([*nodes(), namespace(NAMESPACE)])
    workers = ["kni-worker", *(f"kni-worker{number}" for number in range(2, 7))]
    for name, own in (("app", "kni-worker"), ("db", "kni-worker2")):
        for node in workers:
            cluster.cordon(node, unschedulable=node != own)
        spec = {"domain": guest(memory="40Gi", requests=False)}
        labels = {"kubevirt.io/domain": name, "pair": "web"}
        cluster.apply([machine(name, namespace=NAMESPACE, labels=labels, spec=spec)])
        cluster.settle()
    for node in workers:
        cluster.cordon(node, unschedulable=False)
    loop = Loop.start(tmp_path, cluster, configuration=CONFIGURATION)
    loop.commit({"rule.yaml": RULE.replace("kubernetes.io/hostname", ZONE)})
    pull = loop.open({"out.yaml": OUT.replace("Once: 2", f"Once: {most}")})
    published = loop.publish(pull.number)
    assert not published.check.fails(), published.check.findings
    assert published.check.judged is not None
    moves = published.check.judged.plan.moves
    assert len({(move.group, move.wave) for move in moves}) == 1
    assert all(move.as_one for move in moves)
    assert published.check.judged.diff.happens.startswith("Empties kni-worker, kni-worker2: 2 VMs")
    loop.merge(pull.number)
    loop.apply()
    ends = set(loop.where().values())
    assert ends <= {"kni-worker3", "kni-worker4"} or ends <= {"kni-worker5", "kni-worker6"}
    cordons = [line.strip() for line in loop.lines if line.endswith(" cordoned")]
    assert cordons == ["kni-worker cordoned", "kni-worker2 cordoned"][:most]
    cluster.cordon("kni-worker", unschedulable=False)
    loop.apply()
    assert "  kni-worker2 cordoned" in loop.lines
