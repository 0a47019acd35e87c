"""`check` says what apply may not do of a plan, before it is merged, or that it cannot know."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitbot.simulation.http import request_handler
from tests.doubles.intents import CONFIGURATION, HEAD, REQUEST
from tests.unit.cli.desk import Desk, at_desk

CREATE = "create virtualmachineinstancemigrations.kubevirt.io"
WINDOW = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: [kni-worker]}}
  drain: {{cordon: Gitbot, notMigratable: LeaveRunning}}
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch, CONFIGURATION) as desk:
        yield desk


def deny(monkeypatch: pytest.MonkeyPatch, *, verb: str = "", spaces: tuple[str, ...] = ()) -> None:
    """The account may do everything, except `verb` outside these namespaces."""
    answer = request_handler._review

    def review(kind: str, request: request_handler.HttpRequest) -> dict[str, Any]:
        found = answer(kind, request)
        asked = found["spec"].get("resourceAttributes", {})
        if asked.get("verb") == verb and asked.get("namespace", "") not in spaces:
            found["status"] = {"allowed": False}
        return found

    monkeypatch.setattr(request_handler, "_review", review)


def said(desk: Desk, *words: str, code: int = 0) -> str:
    done = desk.gitbot(*words)
    assert done.code == code, done.text
    return " ".join(done.out.split())


def test_nothing_is_said_of_rights_that_the_account_has(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.commit(jump=REQUEST)
    assert "apply may not" not in said(desk, "check")
    deny(monkeypatch, verb="create", spaces=("customapp",))
    assert "apply may not" not in said(desk, "check"), "a RoleBinding is enough"


def test_check_names_the_missing_right_and_the_file_that_grants_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.commit(jump=REQUEST)
    deny(monkeypatch, verb="create")
    out = said(desk, "check", "--fail-on", "warning")
    words = f"with the account in use, apply may not {CREATE} in customapp, so 1 move would wait"
    assert words in out
    assert "deploy/rbac/30-mover.yaml" in out
    assert "check/right-missing" in said(desk, "plan", "-o", "json")


def test_reconcile_publishes_what_its_account_may_not(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.commit(jump=REQUEST)
    with monkeypatch.context() as patch:
        deny(patch, verb="create")
        assert desk.gitbot("reconcile").code == 0
    out = said(desk, "check", "--published")
    assert f"apply may not {CREATE} in customapp, so 1 move would wait" in out
    assert "with the account in use" not in out
    said(desk, "check", "--published", "--fail-on", "warning", code=1)


def test_what_was_not_published_is_not_called_allowed(desk: Desk) -> None:
    desk.commit(jump=REQUEST)
    assert desk.gitbot("reconcile").code == 0
    assert "is not known" not in said(desk, "check", "--published")
    desk.git("fetch", "-q", "origin", "gitbot/snapshot/iberia")
    desk.git("switch", "-q", "--detach", "FETCH_HEAD")
    desk.git("rm", "-q", "rights.json")
    desk.git("commit", "-q", "-m", "of an older gitbot")
    desk.git("push", "-q", "-f", "origin", "HEAD:refs/heads/gitbot/snapshot/iberia")
    desk.git("switch", "-q", "main")
    out = said(desk, "check", "--published", "--fail-on", "warning")
    assert "whether apply may do this is not known: gitbot reconcile has not published" in out


def test_an_api_server_that_answers_no_review_is_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.commit(jump=REQUEST)

    def nothing(*_: object) -> dict[str, Any]:
        return {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}

    monkeypatch.setattr(request_handler, "_review", nothing)
    out = said(desk, "check", "--fail-on", "warning")
    assert "whether apply may do this is not known: the cluster does not say whether" in out


def test_a_window_that_cordons_needs_the_right_to_patch_nodes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(firmware=WINDOW)
    deny(monkeypatch, verb="patch")
    out = said(desk, "check", "--base", "main")
    assert "apply may not patch nodes, so window firmware could not cordon its nodes" in out
    assert "deploy/rbac/optional-cordon" in out


def test_a_configuration_that_only_observes_asks_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.commit(jump=REQUEST)
    file = desk.tree / ".gitbot.yaml"
    file.write_text(file.read_text().replace("Enforce", "Observe"))
    deny(monkeypatch, verb="create")
    assert "may not" not in said(desk, "check")


def test_pull_requests_show_what_apply_may_not(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    move = ("move", "jumpbox", "-n", "customapp", "--to", "kni-worker5", "--reason", "Maintenance")
    assert desk.gitbot(*move).code == 0
    deny(monkeypatch, verb="create")
    out = said(desk, "check", "--pull-request", "1")
    assert f"with the account in use, apply may not {CREATE} in customapp" in out
