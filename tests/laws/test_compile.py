"""Compiling: the order of files and objects decides nothing, and twice is once."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.intents import read_intents
from gitbot.intents.compile import build_problem, compile_goals, compile_rules
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.findings import Finding
from gitbot.snapshot import from_objects
from tests.doubles.problems import NOW
from tests.unit.intents.compile_scene import SETTINGS, request, small_cluster

VERSION = "apiVersion: placement.gitbot.dev/v1alpha1\n"
RULE = (
    "kind: ZoneAntiAffinity\nmetadata: {name: %s, namespace: a}\n"
    "spec: {selector: {matchLabels: {tier: db}}, maxPerDomain: %d, topologyKey: %s}"
)
DOCUMENTS = [
    RULE % ("db", 1, "topology.kubernetes.io/zone"),
    RULE % ("wrong", 1, "rack"),
    request("one", "{vms: {names: [db-1, nobody]}, target: {zone: y}}"),
    request("two", "{vms: {onNode: n2}, window: w}"),
    request("three", "{vms: {selector: {matchLabels: {tier: db}}, maxCount: 1}}"),
    (
        "kind: MaintenanceWindow\nmetadata: {name: w}\nspec: {nodes: {names: [n3, n1]}, schedule: "
        '{start: "2026-12-06T22:00", duration: PT4H, recurrence: FREQ=WEEKLY}}'
    ),
    "kind: FreezeWindow\nmetadata: {name: f}\nspec: {namespaces: [b]}",
]


def objects() -> list[KubernetesObject]:
    flat: list[KubernetesObject] = []
    for item in small_cluster():
        flat.extend(item) if isinstance(item, tuple) else flat.append(item)
    return flat


def texts(findings: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    return sorted((each.code, each.key_path, each.message) for each in findings)


def compiled(documents: list[str], found: list[KubernetesObject]) -> dict[str, Any]:
    files = {
        f"intents/prod/{number}.yaml": (VERSION + document).encode()
        for number, document in enumerate(documents)
    }
    intents, read = read_intents(files, SETTINGS, "prod")
    snapshot = from_objects("prod", found, NOW)
    rules, _ = compile_rules(intents, snapshot)
    goals, said = compile_goals(intents, snapshot, rules, now=NOW, zone="Europe/Madrid")
    problem, more = build_problem(
        cluster="prod",
        settings=SETTINGS,
        intents=intents,
        snapshot=snapshot,
        goals=goals,
        now=NOW,
    )
    return {
        "read": texts(read),
        "said": texts((*said, *more)),
        "goals": [(type(g).__name__, g.request.id, getattr(g, "vms", ())) for g in goals],
        "nodes": [getattr(goal, "nodes", ()) for goal in goals],
        "rules": [(rule.ref.id, rule.required, sorted(rule.members)) for rule in problem.rules],
        "freezes": [(each.intent.id, sorted(each.vms), each.times) for each in problem.freezes],
        "intents": dict(problem.intents),
        "snapshot": problem.snapshot.digest,
    }


@settings(max_examples=25)
@given(st.randoms(use_true_random=False))
def test_order_decides_nothing(chance: random.Random) -> None:
    documents, found = list(DOCUMENTS), objects()
    chance.shuffle(documents)
    chance.shuffle(found)
    assert compiled(documents, found) == compiled(DOCUMENTS, objects())


def test_there_is_something_in_it() -> None:
    found = compiled(DOCUMENTS, objects())
    assert found["read"] == []
    assert [goal[1] for goal in found["goals"]] == [
        "request/a/one",
        "request/a/two",
        "drain/w/20261206T210000Z",
    ]
    assert [code for code, _, _ in found["said"]] == [
        "intents/blast-radius",
        "intents/not-cordoned",
        "intents/unknown-topology-key",
        "intents/unknown-vm",
    ]
