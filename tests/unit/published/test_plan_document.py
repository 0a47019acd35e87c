import json
from dataclasses import replace
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from gitbot.errors import InvalidInput
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import Limits
from gitbot.published import (
    PlanInputs,
    plan_bytes,
    plan_digest,
    plan_document,
    read_plan,
    schema_of,
)
from tests.unit.reports.plans import HOLD, PLAN, STARTS

MANIFEST = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachineInstanceMigration",
    "metadata": {"name": "m", "namespace": "customapp", "annotations": {"a": "b"}},
    "spec": {"vmiName": "mssql-c"},
}
INPUTS = PlanInputs(commit="c0ffee", configuration="sha256:00", engine={"gitbot": "0.1.0"})


def document(plan: PlacementPlan = PLAN) -> dict[str, Any]:
    made = plan_document(plan, manifests=(MANIFEST,), expires_at=STARTS, inputs=INPUTS)
    return dict(made)


def test_document_has_the_fields_of_the_contract_in_order() -> None:
    assert list(document()) == [
        "apiVersion", "kind", "cluster", "digest", "expiresAt", "inputs", "limits", "moves",
        "holds", "rules", "waves", "bound", "manifests", "findings", "minimised", "drains",
        "resilience",
        "waits",
    ]  # fmt: skip
    assert document()["minimised"][4:] == [
        {"what": "softBreaches", "amount": 0},
        {"what": "score", "amount": None},
    ]
    assert document()["drains"] == [
        {"request": "drain/firmware/2025-12-05T21:00Z", "emptied": ["n1", "n2"], "kept": ["n3"]}
    ]
    assert document()["expiresAt"] == "2025-12-05T21:00:00Z"
    assert document()["inputs"]["snapshot"]["takenAt"] == "2025-12-05T20:59:00Z"
    assert document()["moves"][0]["from"] == {"node": "kni-worker6", "zone": "sab"}
    assert document()["moves"][0]["intent"]["line"] == 12
    assert document()["holds"][0]["nodes"][1]["node"] == "kni-worker2"


@pytest.mark.parametrize("plan", [PLAN, PlacementPlan(cluster="empty")])
def test_reads_back_and_matches_the_published_schema(plan: PlacementPlan) -> None:
    made = document(plan)
    jsonschema.validate(made, schema_of("PlacementPlan"))
    assert read_plan(made).plan == plan
    read = read_plan(plan_bytes(made))
    assert (read.plan, read.inputs, read.expires_at) == (plan, INPUTS, STARTS)
    assert read.manifests == (MANIFEST,)


def digest_of(plan: PlacementPlan = PLAN, manifest: dict[str, Any] | None = None) -> str:
    return plan_digest(plan, (MANIFEST if manifest is None else manifest,))


@pytest.mark.parametrize(
    ("what", "changed", "same"),
    [
        ("other cluster", replace(PLAN, cluster="x"), False),
        ("one move less", replace(PLAN, moves=PLAN.moves[:1]), False),
        ("another wave", replace(PLAN, moves=(replace(PLAN.moves[0], wave=1),)), False),
        ("rule after", replace(PLAN, rules=(replace(PLAN.rules[0], after=1),)), False),
        ("intent edited", replace(PLAN, intents={"a": "b"}), False),
        ("hold gone", replace(PLAN, holds=()), True),
        ("other limits", replace(PLAN, limits=Limits(parallel=9)), True),
        ("other times", replace(PLAN, waves=()), True),
        (
            "other file",
            replace(
                PLAN,
                moves=tuple(
                    replace(move, intent=replace(move.intent, file="x"), estimated_seconds=9)
                    for move in PLAN.moves
                ),
            ),
            True,
        ),
    ],
)
def test_digest_covers_what_was_reviewed(what: str, changed: PlacementPlan, same: bool) -> None:
    assert (digest_of(changed) == digest_of()) is same, what


def test_digest_covers_manifests_without_annotations() -> None:
    metadata = {"name": "m", "namespace": "customapp", "annotations": {"other": "x"}}
    assert digest_of(manifest={**MANIFEST, "metadata": metadata}) == digest_of()
    assert digest_of(manifest={**MANIFEST, "spec": {"vmiName": "x"}}) != digest_of()


def edited(*path: str | int, value: Any) -> dict[str, Any]:
    data: Any = json.loads(plan_bytes(document()))
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "not a plan document: Expecting property name"),
        ("[]", "found list, not an object"),
        ({"kind": "List"}, "not a plan: found None 'List', expected placement.gitbot.dev"),
        (edited("moves", value=None), "not a plan document"),
        (edited("moves", 0, "id", value="1"), "found '1', expected an integer"),
        (edited("moves", 0, "id", value=True), "found True, expected an integer"),
        (edited("moves", 0, "vm", "name", value=3), "found 3, expected text"),
        (
            edited("moves", 0, "pin", value="Rack"),
            "pin: found 'Rack', expected a word of its schema",
        ),
        (
            edited("moves", 0, "request", value="evict/db/one"),
            "request: found 'evict/db/one', expected an id of a request",
        ),
        (edited("moves", 0, "request", value=3), "expected an id of a request"),
        (
            edited("expiresAt", value="soon"),
            "not a plan document: expiresAt: found 'soon', expected a time",
        ),
        (edited("moves", 0, "to", "node", value="x"), "does not hold what its digest says"),
    ],
)
def test_anything_else_is_refused_with_words(data: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_plan(data)


def test_holds_are_kept_whole() -> None:
    assert read_plan(document()).plan.holds == (HOLD,)
