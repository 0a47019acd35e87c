"""How long 50 policies take over a plan of 5,000 moves, from plan and snapshot to the verdict.

The policies are the shipped ones and, up to 50, ones in the style of a platform team: half of them
read what many VMs share (labels, the target), half what each VM has alone (its name, uid, memory).
Those of the team run in their process with limits: what crosses to it counts.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitbot.adapters.sandbox.policy_runner import LimitedPolicyRunner
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Bound, Move, NodeRef, PlacementPlan, SnapshotRef, VmRef, Wave
from gitbot.model.plan.problem import Pin, PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.policy import PolicyRunner, PolicySet, judge, read_policies
from gitbot.snapshot import from_objects
from tests.bench.bench_judging import best
from tests.bench.table import Figure, ms

MOVES, POLICIES, GOAL, ROUNDS = 5_000, 50, 1.0, 3
NODES, ZONES, STARTS = 500, 3, 1_764_968_400
FOUND = {"migration-slots", "moves-per-place", "one-zone-at-a-time"}  # of so large a plan
_SHIPPED = Path(__file__).parents[2] / "policies"
_SHARED = (
    "vm.labels[?'tier'].orValue('') != 'tier-{n}' || node.labels[?'disk'].orValue('') == 'ssd'",
    "node.conditions.all(c, c in ['Ready', 'Other-{n}'])",
    "move.estimatedSeconds < 3600 || vm.labels.app != 'app-{n}'",
    "source.zone != node.zone || move.to.node != 'no-{n}'",
)
_OWN = (
    "!vm.name.startsWith('forbidden-{n}-')",
    "vm.name.matches('^[a-z]+-[0-9]+$') && vm.uid != 'uid-{n}'",
    "move.memoryBytes < 1000000000000 - {n}",
    "!(vm.name in ['a-{n}', 'b-{n}']) && vm.annotations[?'owner'].orValue('') != 'nobody-{n}'",
)


def policies(runner: PolicyRunner) -> PolicySet:
    """50 policies, of which the team's fail nothing here."""
    shipped, style = _shipped(), _SHARED + _OWN
    others = {
        f"policies/own-{number}.yaml": _policy(number, style[number % len(style)].format(n=number))
        for number in range(len(shipped), POLICIES)
    }
    found, findings = read_policies(shipped, others, runner=runner)
    assert findings == ()
    assert len(found.policies) == POLICIES
    return found


def _shipped() -> dict[str, str]:
    return {
        path.relative_to(_SHIPPED).as_posix(): path.read_text("utf-8")
        for path in sorted(_SHIPPED.glob("*/*.yaml"))
        if not path.name.endswith(".test.yaml")
    }


def _policy(number: int, expression: str) -> str:
    return f"""\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: own-{number}}}
spec:
  over: Move
  matchConditions:
  - name: machines
    expression: vm.namespace != 'kube-system'
  validations:
  - expression: {expression!r}
    messageExpression: "'%s is refused'.format([vm.name])"
  validationActions: [Deny]
"""


def instance() -> tuple[PlacementPlan, PlacementProblem, dict[IntentRef, Any]]:
    """A plan of 5,000 moves among 500 nodes, asked for by 100 requests."""
    refs = [
        IntentRef(
            kind="MigrationRequest", namespace=f"team-{n % 20}", name=f"req-{n}", file="r.yaml"
        )
        for n in range(100)
    ]
    moves = tuple(_move(number, refs[number % len(refs)]) for number in range(MOVES))
    waves = tuple(
        Wave(index=n, starts=STARTS + 300 * n, ends=STARTS + 300 * n + 300)
        for n in range(MOVES // 5)
    )
    plan = PlacementPlan(
        cluster="bench",
        moves=moves,
        waves=waves,
        bound=Bound(moves=MOVES, seconds=300 * len(waves)),
        snapshot=SnapshotRef(digest="sha256:" + "0" * 64, taken_at=STARTS - 60),
    )
    objects = [_node(number) for number in range(NODES)] + [_vmi(number) for number in range(MOVES)]
    problem = PlacementProblem(
        cluster="bench", now=STARTS, snapshot=from_objects("bench", objects, STARTS - 60)
    )
    spec = {"reason": "Maintenance", "deadline": "2027-01-01T00:00:00Z", "vms": {"names": ["vm"]}}
    return plan, problem, dict.fromkeys(refs, spec)


def _place(number: int) -> NodeRef:
    return NodeRef(node=f"node-{number % NODES:03}", zone=f"zone-{number % ZONES}")


def _move(number: int, ref: IntentRef) -> Move:
    return Move(
        id=number // 100 + 1,
        request=RequestId.read(f"request/{ref.namespace}/{ref.name}"),
        group=ref.name,
        intent=ref,
        vm=VmRef(namespace=ref.namespace, name=f"vm-{number:05}", uid=f"uid-{number:05}"),
        source=_place(number),
        to=_place(number + 3),
        allowed_nodes=(_place(number + 3).node,),
        pin=Pin.NODE,
        added_node_selector={"kubernetes.io/hostname": _place(number + 3).node},
        memory_bytes=2**33 + number,
        estimated_seconds=300,
        wave=number // 5,
        after=(),
        starts=STARTS + 300 * (number // 5),
        why=f"asked for by {ref.id}",
    )


def _node(number: int) -> KubernetesObject:
    place = _place(number)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": place.node,
            "labels": {"topology.kubernetes.io/zone": place.zone, "disk": "ssd"},
        },
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "200"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _vmi(number: int) -> KubernetesObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {
            "namespace": f"team-{number % 100 % 20}",
            "name": f"vm-{number:05}",
            "uid": f"uid-{number:05}",
            "labels": {
                "tier": f"tier-{number % 5}",
                "app": f"app-{number % 200}",
                "vm": f"v{number}",
            },
            "annotations": {"owner": f"team-{number % 100 % 20}"},
        },
        "spec": {"evictionStrategy": "LiveMigrate", "domain": {"cpu": {"model": "Haswell"}}},
        "status": {"phase": "Running", "nodeName": _place(number).node},
    }


def _elsewhere(runner: LimitedPolicyRunner) -> float:
    """Processor seconds of the process with limits so far."""
    if runner.process.started is None:
        return 0.0
    fields = (
        Path(f"/proc/{runner.process.started.pid}/stat")
        .read_text("ascii")
        .rpartition(")")[2]
        .split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures() -> Iterator[Figure]:
    plan, problem, intents = instance()
    runner = LimitedPolicyRunner()
    chosen = policies(runner)

    def verdict() -> None:
        made = judge(
            plan=plan,
            problem=problem,
            intents=intents,
            policies=chosen,
            now=STARTS,
            owner_of=lambda namespace: namespace,
        )
        assert {finding.code.removeprefix("policy/") for finding in made.findings} == FOUND

    before = _elsewhere(runner)
    seconds = best(verdict, ROUNDS) + (_elsewhere(runner) - before) / ROUNDS
    runner.close()
    yield Figure(
        what="5,000 moves judged by 50 policies, a team's own in the process with limits",
        gitbot=ms(seconds),
        peer=f"{ms(GOAL)} wanted",
        ratio=GOAL / seconds,
        goal=1,
    )
