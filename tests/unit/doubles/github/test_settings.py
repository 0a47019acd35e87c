"""What an administrator sets for Actions, and whose check counts."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nacl.public import PublicKey, SealedBox

from tests.unit.doubles.github.scene import REPOSITORY, Scene

WORKFLOW = """
name: deploy
on: push
jobs:
  deploy:
    runs-on: ubuntu-latest
    environment: prod
    steps: [{run: echo}]
"""


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Scene]:
    made = Scene.make(tmp_path)
    made.github.add_collaborator(REPOSITORY, "oscar", "admin")
    made.tokens["oscar"] = made.github.personal_token("oscar")
    with made.server:
        made.ask("oscar", "PUT", "~/environments/prod", {})
        yield made


def sealed(scene: Scene, text: str) -> dict[str, str]:
    public = scene.ask("oscar", "GET", "~/environments/prod/secrets/public-key")
    box = SealedBox(PublicKey(base64.b64decode(public["key"])))
    value = base64.b64encode(box.encrypt(text.encode())).decode()
    return {"encrypted_value": value, "key_id": public["key_id"]}


def test_a_secret_is_sealed_on_its_way_and_is_what_was_sent(owned: Scene) -> None:
    where = "~/environments/prod/secrets/KEY"
    assert owned.answer("oscar", "PUT", where, sealed(owned, "one"))[0] == 201
    assert owned.answer("oscar", "PUT", where, sealed(owned, "two"))[0] == 204
    environment = owned.github.repository(REPOSITORY).environments["prod"]
    assert environment.secrets == {"KEY": "two"}


@pytest.mark.parametrize("change", [{"encrypted_value": "bm8="}, {"key_id": "7"}])
def test_what_is_not_sealed_to_the_key_is_refused(owned: Scene, change: dict[str, str]) -> None:
    body = {**sealed(owned, "one"), **change}
    assert owned.answer("oscar", "PUT", "~/environments/prod/secrets/KEY", body)[0] == 422


def test_a_variable_is_added_once(owned: Scene) -> None:
    body = {"name": "app_id", "value": "1"}
    assert owned.answer("oscar", "POST", "~/actions/variables", body)[0] == 201
    assert owned.answer("oscar", "POST", "~/actions/variables", body)[0] == 409
    assert owned.github.repository(REPOSITORY).variables == {"APP_ID": "1"}


@pytest.mark.parametrize("login", ["alice", "rita"])
def test_only_administrators_set_what_protects(owned: Scene, login: str) -> None:
    assert owned.answer(login, "PUT", "~/environments/prod", {})[0] in (403, 404)


def test_an_environment_is_closed_to_branches_that_it_does_not_name(owned: Scene) -> None:
    policy = {"protected_branches": False, "custom_branch_policies": True}
    shown = owned.ask("oscar", "PUT", "~/environments/prod", {"deployment_branch_policy": policy})
    assert shown["deployment_branch_policy"] == policy
    where = "~/environments/prod/deployment-branch-policies"
    owned.ask("oscar", "POST", where, {"name": "main"})
    for branch in ("main", "other"):
        owned.commit(branch, {".github/workflows/deploy.yml": WORKFLOW})
    owned.ask("alice", "GET", "~")  # GitHub sees the pushes
    ready = owned.github.actions.ready()
    assert [run.head_branch for _, run, _ in ready] == ["main"]
    runs = owned.github.repository(REPOSITORY).runs.values()
    refused = [run for run in runs if run.head_branch == "other"]
    assert [run.conclusion for run in refused] == ["failure"]


def required(app: int) -> list[dict[str, Any]]:
    checks = [{"context": "gitbot/plan", "integration_id": app}]
    return [{"type": "required_status_checks", "parameters": {"required_status_checks": checks}}]


def test_a_check_that_must_be_of_one_app_is_not_met_by_another_nor_by_a_status(
    owned: Scene,
) -> None:
    owned.pull()
    head = owned.github.repository(REPOSITORY).pulls[1].head
    owned.github.repository(REPOSITORY).rulesets[1] = {
        "name": "base",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": required(15368),
    }
    said = {"context": "gitbot/plan", "state": "success"}
    owned.ask("alice", "POST", f"~/statuses/{head}", said)
    code, answer = owned.answer("bob", "PUT", "~/pulls/1/merge")
    assert (code, answer["message"]) == (
        405, 'Required status check "gitbot/plan" is expected.',
    )  # fmt: skip
    job = owned.github.job_token(REPOSITORY, {"checks": "write"})  # that of GitHub Actions
    body = {"name": "gitbot/plan", "head_sha": head, "conclusion": "success"}
    assert owned.answer(job, "POST", "~/check-runs", body)[0] == 201
    assert owned.answer("bob", "PUT", "~/pulls/1/merge")[0] == 200
