"""Tiny random problems of a cluster that is not at rest, with several goals of any kind.

Old launcher pods of finished migrations linger or terminate; target pods are pending or have
failed; migrations of others run, with or without a VMIM; other requests have reserved room.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.problem import (
    Balance,
    EmptyNodes,
    Goal,
    HealRule,
    Limits,
    MoveVms,
    Pin,
    PlacementProblem,
    Request,
    Reservation,
    ReturnHome,
    Target,
)
from gitbot.model.text.instants import Interval
from gitbot.snapshot import from_objects
from tests.doubles.problems import NOW, named, pod, request
from tests.laws.tiny import Tiny, problem_of, tiny

UNREST = (
    *("old", "old", "old", "two old", "ending", "ending"),
    *("ended", "failed", "pending", "flying", "asked", "lost"),
)
"""What a VM may have beside its launcher pod."""


def unsettled(seed: int) -> PlacementProblem:
    """The problem of a seed: that of `tiny`, with unrest and up to five goals."""
    draw, case = random.Random(seed), tiny(seed)
    bare = problem_of(case)
    objects = [obj for kind in bare.snapshot.objects.values() for obj in kind]
    for item in case.vms:
        if draw.random() < 0.5:
            elsewhere = [n.name for number, n in enumerate(case.nodes) if number != item.on]
            objects = list(_disturbed(draw, objects, item.name, elsewhere))
    objects += _strangers(draw, case)
    return replace(
        bare,
        snapshot=from_objects(bare.cluster, objects, bare.now),
        goals=tuple(_goals(draw, case, bare.rules)),
        limits=Limits(parallel=draw.choice((2, 3, 6)), per_source_node=draw.choice((1, 2))),
        reservations=tuple(_reservations(draw, case)),
    )


def _disturbed(
    draw: random.Random, objects: Sequence[KubernetesObject], vm: str, elsewhere: Sequence[str]
) -> Iterator[KubernetesObject]:
    """The objects, with one kind of unrest about a VM."""
    unrest = draw.choice(UNREST)
    count = 2 if unrest == "two old" else 0 if unrest == "asked" else 1
    nodes = draw.sample(elsewhere, min(count, len(elsewhere)))
    for obj in objects:
        labels = obj["metadata"].get("labels") or {}
        if obj["kind"] == "Pod" and labels.get("vm.kubevirt.io/name") == vm:
            yield from (_beside(obj, unrest, node, number) for number, node in enumerate(nodes))
        if obj["kind"] == "VirtualMachineInstance" and obj["metadata"]["name"] == vm:
            yield _with_status(obj, unrest, nodes)
            if unrest in ("pending", "flying", "asked", "old"):
                yield _migration(obj, unrest)
        else:
            yield obj


def _beside(pod: KubernetesObject, unrest: str, node: str, number: int) -> KubernetesObject:
    """One more launcher pod of the same VM."""
    metadata = {**pod["metadata"], "name": f"{pod['metadata']['name']}-{number}"}
    metadata["uid"] = f"{metadata['uid']}-{number}"
    if unrest == "ending":
        metadata["deletionTimestamp"] = "2026-12-06T20:59:30Z"
    phases = {"ended": "Succeeded", "failed": "Failed", "pending": "Pending"}
    spec: dict[str, Any] = {**pod["spec"], "nodeName": node}
    if unrest == "pending" and number % 2 == 0:
        del spec["nodeName"]
    return {
        **pod,
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phases.get(unrest, "Running")},
    }


def _with_status(vmi: KubernetesObject, unrest: str, nodes: Sequence[str]) -> KubernetesObject:
    status: dict[str, Any] = dict(vmi["status"])
    if unrest in ("flying", "lost") and nodes:  # "lost": its VMIM was deleted
        status["migrationState"] = {"sourceNode": status["nodeName"], "targetNode": nodes[0]}
    elif nodes:
        uid = next(iter(status["activePods"]))
        more = {f"{uid}-{number}": node for number, node in enumerate(nodes)}
        status["activePods"] = {**status["activePods"], **more}
    return {**vmi, "status": status}


def _migration(vmi: KubernetesObject, unrest: str) -> KubernetesObject:
    phases = {"pending": "Scheduling", "flying": "Running", "asked": "Pending"}
    name = vmi["metadata"]["name"]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": f"by-hand-{name}", "namespace": "default", "uid": f"vmim-{name}"},
        "spec": {"vmiName": name},
        "status": {"phase": phases.get(unrest, "Succeeded")},
    }


def _strangers(draw: random.Random, case: Tiny) -> Iterator[KubernetesObject]:
    """Pods that are no VM's: running, pending, terminating, failed."""
    for number in range(draw.choice((0, 1, 3))):
        on = draw.choice(["", *(item.name for item in case.nodes)])
        made: dict[str, Any] = dict(pod(f"stranger-{number}", on=on, memory="1Gi"))
        match draw.choice(("", "ending", "failed")):
            case "ending":
                stamp = {"deletionTimestamp": "2026-12-06T20:59:30Z"}
                made["metadata"] = {**made["metadata"], **stamp}
            case "failed":
                made["status"] = {"phase": "Failed"}
        yield made


def _reservations(draw: random.Random, case: Tiny) -> Iterator[Reservation]:
    for item in case.vms:
        if draw.random() < 0.07:
            yield Reservation(
                vm=named(item.name),
                node=draw.choice(case.nodes).name,
                allowed=(Interval(start=NOW, end=NOW + 3600),),
                request=MigrationRequestId(namespace="default", name=f"other-{item.name}"),
            )


def _goals(draw: random.Random, case: Tiny, rules: Sequence[RuleConstraint]) -> Iterator[Goal]:
    """One to five goals; each heals another rule, or is a request of any other kind."""
    hosts = [item.name for item in case.nodes]
    heals = [rule for rule in rules if not rule.ref.of_vm]
    draw.shuffle(heals)
    for number in range(draw.randint(1, 5)):
        work = _request(draw, number)
        some = [item.name for item in draw.sample(case.vms, draw.randint(1, len(case.vms)))]
        match draw.choice(("heal", "heal", "empty", "move", "home", "balance")):
            case "heal" if heals:
                yield HealRule(request=work, rule=heals.pop().ref)
            case "empty":
                yield _drain(draw, work, hosts)
            case "home":
                yield ReturnHome(
                    request=work, homes={named(name): draw.choice(hosts) for name in some}
                )
            case kind:
                yield MoveVms(
                    request=work,
                    vms=tuple(map(named, some)),
                    target=_target(draw, case) if kind != "balance" else Target(),
                    pin=draw.choice((Pin.NODE, Pin.NODE, Pin.ZONE, Pin.NONE))
                    if kind != "balance"
                    else Pin.NODE,
                    balance=Balance() if kind == "balance" else None,
                )


def _request(draw: random.Random, number: int) -> Request:
    """Some requests have little time: about as much as one or two moves take."""
    if draw.random() < 0.7:
        return request(f"goal-{number}")
    begin = NOW + draw.choice((0, 30, 300))
    return request(
        f"goal-{number}", allowed=(Interval(start=begin, end=begin + draw.choice((90, 150))),)
    )


def _target(draw: random.Random, case: Tiny) -> Target:
    match draw.choice(("anywhere", "node", "zone")):
        case "node":
            return Target(nodes=(draw.choice(case.nodes).name,))
        case "zone":
            labels: Mapping[str, str] = {
                "topology.kubernetes.io/zone": draw.choice(case.nodes).zone
            }
            return Target(node_selector=labels)
        case _:
            return Target()


def _drain(draw: random.Random, work: Request, hosts: Sequence[str]) -> EmptyNodes:
    return EmptyNodes(
        request=work,
        nodes=tuple(draw.sample(hosts, draw.randint(1, min(3, len(hosts))))),
        max_nodes_at_once=draw.choice((1, 2)),
        block=draw.random() < 0.5,
        cordoned_by_gitbot=draw.random() < 0.5,
        away=draw.choice((None, 0, 600)),
        ordered=draw.random() < 0.3,
    )
