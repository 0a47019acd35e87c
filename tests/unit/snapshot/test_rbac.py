"""The rights in deploy/rbac are those that the adapter uses, no more and no less."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitbot.documents.kubernetes_yaml import read_kubernetes_yaml
from gitbot.snapshot.resources import LISTED

FOLDER = Path(__file__).parents[3] / "deploy" / "rbac"
FILES = sorted(path.name for path in FOLDER.glob("*.yaml"))
WRITES = {"create", "update", "patch", "delete", "deletecollection", "bind", "escalate"}


def objects(name: str) -> list[Mapping[str, Any]]:
    return list(read_kubernetes_yaml((FOLDER / name).read_bytes(), name))


def rights(name: str) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for obj in objects(name)
        for rule in obj.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_reading_is_what_a_snapshot_lists() -> None:
    listed = {(each.group, each.plural, "list") for each in LISTED} | {("", "events", "list")}
    got = {right for right in rights("20-read.yaml") if right[2] == "get"}
    assert rights("20-read.yaml") - got == listed
    assert {group for group, _, _ in got} == {"kubevirt.io"}


@pytest.mark.parametrize("name", FILES)
def test_no_file_writes_a_vm_or_reads_a_secret(name: str) -> None:
    for group, resource, verb in rights(name):
        assert resource not in ("secrets", "*")
        assert group != "*"
        if verb in WRITES:
            assert resource in ("virtualmachineinstancemigrations", "configmaps", "nodes")


@pytest.mark.parametrize("name", FILES)
def test_every_role_is_bound_to_the_account(name: str) -> None:
    found = objects(name)
    roles = {obj["metadata"]["name"] for obj in found if obj["kind"].endswith("Role")}
    bound = {
        obj["roleRef"]["name"]: obj["subjects"] for obj in found if obj["kind"].endswith("Binding")
    }
    assert set(bound) == roles
    account = {"kind": "ServiceAccount", "name": "gitbot", "namespace": "gitbot"}
    assert all(subjects == [account] for subjects in bound.values())
