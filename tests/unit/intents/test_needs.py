"""Whose approval each kind of request needs."""

import pytest

from gitbot.intents import IntentSet, OwnershipRules, needs_of, read_intents
from gitbot.model.ledger.request_id import (
    DrainId,
    HealId,
    MigrationRequestId,
    OccurrenceId,
    RequestId,
    ReturnId,
)
from gitbot.model.plan.plan import Move, NodeRef, VmRef
from gitbot.model.plan.problem import Pin
from gitbot.model.text.names import IntentRef
from gitbot.settings import ClusterSettings, NodeSettings, OwnerSettings, Settings

OWNERS = (
    OwnerSettings(
        paths=("intents/prod",),
        namespaces=("*",),
        zones=("*",),
        nodes=NodeSettings(names=("*",)),
        teams=("@acme/platform",),
    ),
    OwnerSettings(paths=("intents/prod/a",), namespaces=("a", "a-*"), teams=("@acme/a", "@ann")),
    OwnerSettings(paths=("intents/prod/b",), namespaces=("b",)),
    OwnerSettings(paths=("intents/prod/d",), namespaces=("d",)),
    OwnerSettings(zones=("scu",), teams=("@acme/scu",)),
    OwnerSettings(nodes=NodeSettings(match_labels={"gpu": "yes"}), teams=("@acme/gpu",)),
)
CODEOWNERS = "* @all\n/intents/prod/b/ @bob\n/intents/prod/b/special.yaml @bea b@example.com\n"
CODEOWNERS += "/intents/prod/d/\n"
LABELS = {"n3": {"gpu": "yes", "topology.kubernetes.io/zone": "scu"}}
ZONES = {"n1": "bcn", "n2": "scu", "n3": "scu", "n4": "bcn"}
OPEN = OccurrenceId(window="w", id="20261206T210000Z")
A, PLATFORM, SCU, GPU = ("@acme/a", "@ann"), ("@acme/platform",), ("@acme/scu",), ("@acme/gpu",)


def ownership(*owners: OwnerSettings) -> OwnershipRules:
    settings = Settings(clusters=(ClusterSettings(name="prod"),), owners=owners)
    return OwnershipRules(
        settings=settings, codeowners=CODEOWNERS, labels=lambda node: LABELS.get(node, {})
    )


def node(name: str) -> NodeRef:
    return NodeRef(node=name, zone=ZONES[name])


def move(request: RequestId, *, file: str, vm: str, to: str = "n4", kind: str = "") -> Move:
    space, _, name = vm.partition("/")
    own = getattr(request, "namespace", "")
    return Move(
        id=1,
        request=request,
        group="g",
        intent=IntentRef(
            kind=kind or "MigrationRequest", namespace=own, name="r", file=f"intents/prod/{file}"
        ),
        vm=VmRef(namespace=space, name=name, uid="u"),
        source=node("n1"),
        to=node(to),
        allowed_nodes=("n2", "n3"),
        pin=Pin.NODE,
        added_node_selector={},
        memory_bytes=1,
        estimated_seconds=1,
        wave=0,
    )


def intents(space: str, file: str, target: str) -> IntentSet:
    text = f"""apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {{name: r, namespace: {space}}}
spec: {{vms: {{names: [db]}}{f", target: {{{target}}}" if target else ""}}}
"""
    settings = Settings(clusters=(ClusterSettings(name="prod"),))
    found, _ = read_intents({f"intents/prod/{file}": text.encode()}, settings, "prod")
    assert found.intents
    return found


REQUESTS = [
    ("a", "a/x.yaml", "a/db", "", {"namespace a": A}),
    ("a-test", "x.yaml", "a-test/db", "", {"namespace a-test": A}),
    ("c", "x.yaml", "c/db", "", {"namespace c": PLATFORM}),
    # no teams: CODEOWNERS, whose line a file elsewhere cannot choose
    ("b", "b/x.yaml", "b/db", "", {"namespace b": ("@bob",)}),
    ("b", "b/special.yaml", "b/db", "", {"namespace b": ("@bea", "b@example.com")}),
    ("b", "elsewhere.yaml", "b/db", "", {"namespace b": ("@bob",)}),
    # a VM of another namespace steps aside
    ("a", "a/x.yaml", "c/web", "", {"namespace a": A, "namespace c": PLATFORM}),
    # and nobody may approve it: d is bound to a folder, without teams
    ("a", "a/x.yaml", "d/web", "", {"namespace a": A, "namespace d": ()}),
    ("d", "d/x.yaml", "d/web", "", {}),
    ("a", "a/x.yaml", "a/db", "node: n4", {"namespace a": A, "node n4": PLATFORM}),
    ("a", "a/x.yaml", "a/db", "node: n3", {"namespace a": A, "node n3": GPU}),
    ("a", "a/x.yaml", "a/db", "zone: scu", {"namespace a": A, "zone scu": SCU}),
    (
        "a",
        "a/x.yaml",
        "a/db",
        "nodeSelector: {fast: 'true'}",
        {"namespace a": A, "node n2": PLATFORM, "node n3": GPU},
    ),
]


@pytest.mark.parametrize(("space", "file", "vm", "target", "needs"), REQUESTS)
def test_requests(
    space: str, file: str, vm: str, target: str, needs: dict[str, tuple[str, ...]]
) -> None:
    request = MigrationRequestId(namespace=space, name="r")
    to = target.removeprefix("node: ") if target.startswith("node: ") else "n4"
    found = needs_of(
        ownership(*OWNERS),
        intents(space, file, target),
        request,
        [move(request, file=file, vm=vm, to=to)],
    )
    assert {need.subject: need.owners for need in found} == needs


def test_a_healing_asks_the_owners_of_what_it_moves() -> None:
    request = HealId(namespace="a", kind="ZoneAntiAffinity", name="r")
    moves = [move(request, file="a/x.yaml", vm="c/web", kind="ZoneAntiAffinity")]
    found = needs_of(ownership(*OWNERS), IntentSet(cluster="prod"), request, moves)
    assert [(need.subject, need.owners) for need in found] == [
        ("namespace a", A),
        ("namespace c", PLATFORM),
    ]


def test_a_drain_asks_the_owners_of_its_nodes_alone() -> None:
    request = DrainId(occurrence=OPEN)
    moves = [move(request, file="w.yaml", vm="a/db", kind="MaintenanceWindow")]
    drained = ("n1", "n3", "n4")
    found = needs_of(ownership(*OWNERS), IntentSet(cluster="prod"), request, moves, drained=drained)
    assert [(need.subject, need.owners) for need in found] == [
        ("node n3", GPU),
        ("nodes n1, n4", PLATFORM),
    ]


def test_the_way_home_asks_the_owners_of_the_homes() -> None:
    request = ReturnId(occurrence=OPEN)
    moves = [move(request, file="w.yaml", vm="a/db", to="n3", kind="MaintenanceWindow")]
    (found,) = needs_of(ownership(*OWNERS), IntentSet(cluster="prod"), request, moves)
    assert (found.subject, found.owners) == ("node n3", GPU)


def test_what_nobody_owns_needs_nobody() -> None:
    request = MigrationRequestId(namespace="c", name="r")
    known = intents("c", "x.yaml", "node: n1")
    moves = [move(request, file="x.yaml", vm="c/db", to="n1")]
    assert needs_of(ownership(*OWNERS[1:]), known, request, moves) == ()
    assert not ownership().asks
