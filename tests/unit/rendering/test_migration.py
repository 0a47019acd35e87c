from dataclasses import replace
from pathlib import Path

import pytest

from gitbot.errors import GitbotError
from gitbot.model.ledger.effect_id import EffectId, label_value
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, NodeRef, VmRef
from gitbot.model.plan.problem import Pin
from gitbot.model.text.names import IntentRef
from gitbot.rendering import MigrationContext, migration_manifest

TEMPLATES = {
    path.name: path.read_text("utf-8")
    for path in sorted((Path(__file__).parents[3] / "templates").glob("*.j2"))
}
CONTEXT = MigrationContext(
    unschedulable_timeout=300,
    commit="c0ffee",
    pull_request=7,
    reason="Maintenance",
    version="0.2.0",
)


def move(*, selector: dict[str, str] | None = None, vm: str = "db-1") -> Move:
    return Move(
        id=3,
        request=RequestId.read("request/customapp/db-1-to-bcn"),
        group="db-1-to-bcn",
        intent=IntentRef(
            kind="MigrationRequest",
            namespace="customapp",
            name="db-1-to-bcn",
            file="intents/iberia/db.yaml",
            line=4,
        ),
        vm=VmRef(namespace="customapp", name=vm, uid="u-1"),
        source=NodeRef(node="kni-worker2", zone="scu"),
        to=NodeRef(node="kni-worker4", zone="bcn"),
        allowed_nodes=("kni-worker4",),
        pin=Pin.NODE,
        added_node_selector={} if selector is None else selector,
        memory_bytes=1,
        estimated_seconds=1,
        wave=0,
    )


def test_manifest_is_what_virtctl_sends_apart_from_metadata() -> None:
    manifest = migration_manifest(
        move=move(selector={"kubernetes.io/hostname": "kni-worker4"}),
        context=CONTEXT,
        templates=TEMPLATES,
    )
    assert {key: value for key, value in manifest.items() if key != "metadata"} == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "spec": {
            "vmiName": "db-1",
            "addedNodeSelector": {"kubernetes.io/hostname": "kni-worker4"},
        },
    }


def test_without_selector_the_field_is_absent() -> None:
    manifest = migration_manifest(move=move(), context=CONTEXT, templates=TEMPLATES)
    assert manifest["spec"] == {"vmiName": "db-1"}


def test_metadata_names_request_intent_and_review() -> None:
    manifest = migration_manifest(move=move(), context=CONTEXT, templates=TEMPLATES)
    effect = EffectId(
        request=RequestId.read("request/customapp/db-1-to-bcn"), vmi_uid="u-1", move=3, attempt=1
    )
    assert manifest["metadata"] == {
        "name": effect.migration_name(vm="db-1"),
        "namespace": "customapp",
        "labels": {
            "app.kubernetes.io/managed-by": "gitbot",
            "placement.gitbot.dev/request": "request_customapp_db-1-to-bcn",
        },
        "annotations": {
            "kubevirt.io/migrationUnschedulablePodTimeoutSeconds": "300",
            "placement.gitbot.dev/request": "request/customapp/db-1-to-bcn",
            "placement.gitbot.dev/move": "3",
            "placement.gitbot.dev/attempt": "1",
            "placement.gitbot.dev/intent": "MigrationRequest/customapp/db-1-to-bcn",
            "placement.gitbot.dev/intent-path": "intents/iberia/db.yaml",
            "placement.gitbot.dev/commit": "c0ffee",
            "placement.gitbot.dev/pull-request": "7",
            "placement.gitbot.dev/reason": "Maintenance",
            "placement.gitbot.dev/version": "0.2.0",
        },
    }


def test_window_is_label_and_annotation() -> None:
    context = MigrationContext(unschedulable_timeout=300, window="w" * 70)
    metadata = migration_manifest(move=move(), context=context, templates=TEMPLATES)["metadata"]
    label = metadata["labels"]["placement.gitbot.dev/window"]
    assert len(label) == 63
    assert label.startswith("w" * 52 + "-")
    assert metadata["annotations"]["placement.gitbot.dev/window"] == "w" * 70


def test_text_of_people_cannot_change_the_shape() -> None:
    context = MigrationContext(unschedulable_timeout=1, reason='x"}, "spec": {"priority": "x"')
    manifest = migration_manifest(move=move(), context=context, templates=TEMPLATES)
    assert manifest["spec"] == {"vmiName": "db-1"}
    assert manifest["metadata"]["annotations"]["placement.gitbot.dev/reason"] == context.reason


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ({}, "template virtualmachineinstancemigration.json.j2 is missing"),
        ({"virtualmachineinstancemigration.json.j2": "{{ nope }}"}, "'nope' is undefined"),
        ({"virtualmachineinstancemigration.json.j2": "{{ name }}"}, "cannot be rendered"),
        ({"virtualmachineinstancemigration.json.j2": "[]"}, "renders to list, not an object"),
        ({"virtualmachineinstancemigration.json.j2": "{% for %}"}, "cannot be rendered"),
    ],
)
def test_bad_templates_are_named(templates: dict[str, str], message: str) -> None:
    with pytest.raises(GitbotError, match=message):
        migration_manifest(move=move(), context=CONTEXT, templates=templates)


def test_effect_names_differ_by_every_part_and_fit() -> None:
    first = EffectId(request=RequestId.read("request/a/b"), vmi_uid="u", move=1)
    effects = [
        first,
        replace(first, request=RequestId.read("request/a/c")),
        replace(first, vmi_uid="v"),
        replace(first, move=2),
        replace(first, attempt=2),
    ]
    assert len({effect.migration_name(vm="db-1") for effect in effects}) == len(effects)
    assert first.migration_name(vm="db-1") == "gitbot-db-1-33015056ed"
    long = first.migration_name(vm="a" * 234 + "." + "b" * 18)
    assert len(long) == 252  # the cut ended on the dot, which no part of a name may end with
    assert long.startswith("gitbot-" + "a" * 234 + "-")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("scu-firmware", "scu-firmware"),
        ("request/customapp/db-1", "request_customapp_db-1"),
        ("a" * 63, "a" * 63),
        ("a" * 64, "a" * 52 + "-ffe054fe7a"),
        ("a" * 51 + "-" + "b" * 20, "a" * 51 + "--c6901826cb"),
        ("drain/ä/x", "drain_-_x-c38da05ea9"),
        ("/", "8a5edab282"),
    ],
)
def test_label_values_are_legal(text: str, label: str) -> None:
    assert label_value(text) == label
