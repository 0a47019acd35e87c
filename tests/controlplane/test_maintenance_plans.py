"""60 nodes, 600 VMs, 40 random maintenance plans: the real scheduler places every target pod."""

import gc
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitbot.kubernetes.objects import annotations_of, at, labels_of
from gitbot.kubevirt import names
from gitbot.model.ledger.events import FINAL_STATES, MoveChanged, MoveState
from gitbot.simulation.served_resources import BY_KIND
from tests.controlplane import crowd as crowds
from tests.controlplane.crowd import GROUP, TIER, Crowd
from tests.controlplane.journal import Journal, State
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.installation import KubeVirt
from tests.controlplane.loop import LiveLoop
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import eventually

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.usefixtures("own_pace"),
    pytest.mark.xdist_group("plans"),  # longer than all the others together: on a plane of its own
]

SEED, AT_ONCE = 2036, 10
PATIENCE = 300.0  # seconds until 600 pods run, on a machine that is busy
TRIES = 3  # requests for VMs of a node until one has a plan
DRAINS = 0.6  # the share of plans that empty a node; the others move some of its VMs
VMI, MIGRATION = "VirtualMachineInstance", "VirtualMachineInstanceMigration"
MERGE_PATCH = "application/merge-patch+json"
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters:
  - name: CLUSTER
    timeZone: UTC
    limits: {parallel: 64, perSourceNode: 16, perTargetNode: 16, perZone: 64, reserve: 1}
  proposals: {stabilize: PT0S, perVmCooldown: PT0S, maxOpen: 100}
  mode: Enforce
"""
LIMITS = {"parallelMigrationsPerCluster": 64, "parallelOutboundMigrationsPerNode": 16}
"""High, so that many moves start on one look; ten nodes have more VMs than that still."""
WINDOW = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: NAME}
spec:
  nodes: {names: [NODE]}
  drain: {maxNodesAtOnce: 8, cordon: External, notMigratable: LeaveRunning}
  returnHome: Never
"""
REQUEST = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  vms: {names: VMS}
  reason: Maintenance
"""


@pytest.fixture
def crowd(
    admin: Connection, kubelets: Kubelets, namespace: str, kubevirt: KubeVirt
) -> Iterator[Crowd]:
    """The crowd, up and looked after."""
    kubevirt.configure(evictionStrategy="LiveMigrate", migrations=LIMITS)
    drawn = crowds.draw(SEED, namespace=namespace)
    kubelets.add(*drawn.nodes)
    with kubevirt.without_controllers():
        crowds.load(admin, drawn)
    path = path_of(BY_KIND["Pod"], namespace)
    eventually(
        lambda: all(at(pod, "status", "phase") == "Running" for pod in admin.list(path)[0]),
        seconds=PATIENCE,
    )
    yield drawn
    with kubevirt.without_controllers():
        crowds.clear(admin, namespace)


@dataclass(kw_only=True)
class Campaign:
    """Rounds of plans, AT_ONCE at once, until there were `wanted`, and what was observed."""

    crowd: Crowd
    loop: LiveLoop
    admin: Connection
    dice: random.Random
    wanted: int
    plans: int = 0
    windows: list[str] = field(default_factory=list)  # the files of this round
    states: Counter[str] = field(default_factory=Counter)  # how moves ended

    def round(self, number: int) -> None:
        """Plans for AT_ONCE nodes, one each, merged one by one, applied together.

        Each is made over what the ones before it have reserved.
        """
        names = [each["metadata"]["name"] for each in self.crowd.nodes]
        nodes = self.dice.sample(names, AT_ONCE)
        drains = [node for node in nodes if self.dice.random() < DRAINS]
        self._cordon(drains, unschedulable=True)
        for node in nodes:
            if self.plans >= self.wanted:
                break
            if node in drains:
                self._drain(f"r{number}-{node}", node)
            else:
                self._request(f"r{number}-{node}", node)
        self.states.update(self.loop.apply().states)
        self._cordon(drains, unschedulable=None)
        self.loop.push(dict.fromkeys(self.windows))
        self.windows.clear()

    def _drain(self, name: str, node: str) -> None:
        text = WINDOW.replace("NAME", name).replace("NODE", node)
        path = f"window-{node}.yaml"
        self.windows.append(path)
        self.loop.push({path: text})
        self.loop.propose()
        for pull in self.loop.open_pulls():
            self.loop.merge(pull.number)
            self.plans += 1

    def _request(self, name: str, node: str) -> None:
        here = [
            vmi["metadata"]["name"]
            for vmi in self.admin.list(path_of(BY_KIND[VMI], self.crowd.namespace))[0]
            if at(vmi, "status", "nodeName") == node
        ]
        for number in range(TRIES if here else 0):
            wanted = self.dice.sample(here, min(len(here), self.dice.randint(1, 6)))
            if self._merges(f"{name}-{number}", wanted):
                return

    def _merges(self, name: str, wanted: list[str]) -> bool:
        """Ask for these VMs to be moved; whether there was a plan, which is merged then."""
        text = REQUEST.replace("NAMESPACE", self.crowd.namespace).replace("NAME", name)
        text = text.replace("VMS", f"[{', '.join(wanted)}]") + self._target()
        pull = self.loop.open(f"{name}.yaml", text, branch=name)
        check = self.loop.publish(pull.number).check
        if check.fails() or check.judged is None or not check.judged.plan.moves:
            self.loop.forge.close_pull(pull.number)
            return False
        self.loop.merge(pull.number)
        self.plans += 1
        return True

    def _target(self) -> str:
        target = self.dice.choice(("anywhere", "zone", "tier"))
        if target == "zone":
            return f"  target: {{zone: zone-{self.dice.randrange(crowds.ZONES)}}}\n"
        return f"  target: {{nodeSelector: {{{TIER}: ssd}}}}\n" if target == "tier" else ""

    def _cordon(self, nodes: list[str], *, unschedulable: bool | None) -> None:
        body = {"spec": {"unschedulable": unschedulable}}
        for node in nodes:
            self.admin.request("PATCH", f"/api/v1/nodes/{node}", body, content_type=MERGE_PATCH)


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(20, marks=pytest.mark.controlplane),
        pytest.param(40, marks=pytest.mark.long),
    ],
)
def test_plans_drawn_by_a_seed(
    wanted: int,
    admin: Connection,
    crowd: Crowd,
    gitbot_kubeconfig: Path,
    *,
    plane: ControlPlane,
    tmp_path: Path,
) -> None:
    loop = LiveLoop(
        tmp_path,
        kubeconfig=gitbot_kubeconfig,
        name=plane.context,
        configuration=CONFIGURATION.replace("CLUSTER", plane.context),
    )
    loop.push({**crowd.intents()})
    campaign = Campaign(
        crowd=crowd, loop=loop, admin=admin, dice=random.Random(SEED), wanted=wanted
    )
    specs = specs_of(admin, crowd.namespace)
    with Journal(admin) as journal:
        number = 0
        while campaign.plans < wanted:
            campaign.round(number := number + 1)
            gc.freeze()  # what the journal has heard stays: the cycle collector need not look at it
        journal.quiet()
    gc.unfreeze()
    elsewhere, landings = wrong_landings(journal, loop)
    breaches = new_breaches(journal, crowd)
    moves, states = campaign.states["succeeded"], dict(campaign.states)
    print(
        f"\n{len(crowd.nodes)} nodes, {len(crowd.homes)} VMs, {len(crowd.rules)} rules of intents: "
        f"{campaign.plans} plans in {number} rounds, moves {states}, {landings} landings; "
        f"{len(elsewhere)} not allowed by the plan, {len(breaches)} new or worse breaches"
    )
    assert elsewhere == []
    assert breaches == []
    # The executor holds a move if the scheduler could choose another node by now. It takes no place
    # until it has a new plan, so the plan of another request may move its VM first.
    ends = ended(loop)
    replaced = [event for event in ends if event.reason.endswith(" replaced it")]
    moved = [
        event for event in ends if event.state is MoveState.OBSOLETE and was_moved(event, ends)
    ]
    assert [
        f"{event.vm}: {event.state}, {event.reason}"
        for event in ends
        if event.state is not MoveState.SUCCEEDED and event not in (*replaced, *moved)
    ] == []
    counts = {"succeeded": landings, "withdrawn": len(replaced), "obsolete": len(moved)}
    assert campaign.states == Counter(counts)
    assert moves > 3 * wanted
    assert specs_of(admin, crowd.namespace) == specs


def specs_of(admin: Connection, namespace: str) -> dict[str, Any]:
    return {
        f"{kind}/{item['metadata']['name']}": item["spec"]
        for kind in (VMI, "VirtualMachine")
        for item in admin.list(path_of(BY_KIND[kind], namespace))[0]
    }


def ended(loop: LiveLoop) -> list[MoveChanged]:
    """The ends of moves, in the order of the ledger."""
    events = loop.shell.ledger_store.read().events
    return [e for e in events if isinstance(e, MoveChanged) and e.state in FINAL_STATES]


def was_moved(event: MoveChanged, ends: list[MoveChanged]) -> bool:
    """Whether another request had moved the VM when this move ended."""
    return any(
        other.vm == event.vm
        and other.request != event.request
        and other.state is MoveState.SUCCEEDED
        and other.seq < event.seq
        for other in ends
    )


def wrong_landings(journal: Journal, loop: LiveLoop) -> tuple[list[str], int]:
    """Target pods that the scheduler put where the plan had not allowed; how many there were."""
    allowed: dict[tuple[str, str], set[str]] = defaultdict(set)
    for move in loop.planned():  # a VM that steps aside and goes on moves twice for one request
        allowed[str(move.request), str(move.vm.namespaced_name)].update(move.allowed_nodes)
    requests = {
        item["metadata"]["name"]: annotations_of(item)["placement.gitbot.dev/request"]
        for item in loop.shell.cluster.list_migrations()
    }
    wrong, count = [], 0
    for binding in journal.bindings():
        job = annotations_of(binding.pod).get(names.MIGRATION_NAME)
        if job is None:
            continue
        count += 1
        vm = f"{binding.pod['metadata']['namespace']}/{annotations_of(binding.pod)[names.DOMAIN]}"
        nodes = sorted(allowed[requests[job], vm])
        if binding.node not in nodes:
            wrong.append(f"{vm}: on {binding.node}, allowed {', '.join(nodes)}")
    return wrong, count


def new_breaches(journal: Journal, crowd: Crowd) -> list[str]:
    """Steps after which a rule of an intent is more broken than before, counted by this test."""
    found = []
    for event, state in journal.states():
        group = labels_of(event.object or {}).get(GROUP, "")
        old = state.get((event.kind, event.key))
        if event.kind != VMI or group not in crowd.rules or event.object is None or old is None:
            continue
        if at(old, "status", "nodeName") == at(event.object, "status", "nodeName"):
            continue
        after = {**state, (event.kind, event.key): event.object}
        before, now = broken(state, crowd, group), broken(after, crowd, group)
        if now > before:
            found.append(f"{event.key[1]}: {before} to {now} too many per {crowd.rules[group]}")
    return found


def broken(state: Mapping[Any, Any] | State, crowd: Crowd, group: str) -> int:
    """How many VMs of a group are too many in their domain."""
    domains = Counter(
        labels_of(state["Node", ("", node)])[crowd.rules[group]]
        for (kind, _), obj in state.items()
        if kind == VMI
        and labels_of(obj).get(GROUP) == group
        and (node := at(obj, "status", "nodeName"))
    )
    return sum(count - 1 for count in domains.values())
