"""Answers of another form than GitHub's: an outage, a proxy, another program at that address."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.errors import ForgeError
from gitbot.ports.forge import CheckRun, CheckState, CommitStatus, MergeMethod
from tests.unit.adapters.github.scripted import Reply, forge_for, serving

HEAD = "a" * 40
PULL: dict[str, Any] = {
    "number": 1,
    "title": "t",
    "state": "open",
    "head": {"ref": "b", "sha": HEAD, "repo": {"id": 1}},
    "base": {"ref": "main", "repo": {"id": 1}},
    "created_at": "2026-12-06T21:00:00Z",
}
BODIES: list[Any] = [
    None,
    [],
    {},
    [None],
    [{}],
    ["text", 1],
    7,
    "[" * 100_000,
    PULL | {"number": "x"},
    [PULL | {"number": None}],
    [PULL | {"state": 5}],
    [PULL | {"head": None}],
    [PULL | {"created_at": "yesterday"}],
    [{"id": "x", "created_at": "x", "updated_at": None, "context": "c", "state": "odd"}],
    {"check_runs": [{"id": "x", "name": "n", "app": 5, "output": 5}], "total_count": 1},
    {"permission": 5, "role_name": [], "login": 5},
]
CHECK = CheckRun(name="n", state=CheckState.SUCCESS, title="t")
NUMBERS = ["9" * 5000, "99999999999999", "1e999", "1e300", "-1", "nan", ""]


def open_pull(forge: GitHubForge) -> object:
    return forge.open_pull(branch="b", base_branch="main", title="t", body="b", labels=("x",))


def merge(forge: GitHubForge) -> object:
    return forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=HEAD)


STATUS = CommitStatus(context="c", state=CheckState.SUCCESS, description="d")
OPERATIONS: list[Callable[[GitHubForge], object]] = [
    lambda forge: forge.get_pull(1),
    lambda forge: forge.list_pulls(),
    open_pull,
    lambda forge: forge.close_pull(1),
    merge,
    lambda forge: forge.set_labels(1, ("a",)),
    lambda forge: forge.list_comments(1),
    lambda forge: forge.get_comment(1, 2),
    lambda forge: forge.upsert_comment(1, marker="<!-- m -->", body="<!-- m -->"),
    lambda forge: forge.can_write("a"),
    lambda forge: forge.team_members("acme/a"),
    lambda forge: forge.set_check(HEAD, CHECK),
    lambda forge: forge.list_checks(HEAD),
    lambda forge: forge.upsert_issue(marker="<!-- m -->", title="t", body="<!-- m -->"),
    lambda forge: forge.set_status(HEAD, STATUS),
    lambda forge: forge.list_statuses(HEAD),
    lambda forge: forge.reviews_required,
    lambda forge: forge.diagnose(),
]


def asked(forge: GitHubForge, operation: Callable[[GitHubForge], object]) -> None:
    """It has an answer, or fails as a forge does: never as a bug."""
    with suppress(ForgeError):
        operation(forge)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_another_form_is_no_bug(operation: Callable[[GitHubForge], object]) -> None:
    body: Any = None
    with serving(lambda _: Reply(body=body)) as server:
        for body in BODIES:  # noqa: B007 - the server sends it
            asked(forge_for(server), operation)


def test_another_form_is_said() -> None:
    with (
        serving(lambda _: Reply(body=[{}])) as server,
        pytest.raises(ForgeError, match="another form than expected: KeyError: 'number'"),
    ):
        forge_for(server).list_pulls()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("status_code", [200, 403, 429])
def test_a_limit_that_no_clock_has_is_no_bug(number: str, status_code: int) -> None:
    headers = {
        "Retry-After": number,
        "X-RateLimit-Limit": "5000",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": number,
    }
    reply = Reply(status=status_code, headers=headers, body=PULL)
    with serving(lambda _: reply) as server:
        forge = forge_for(server)
        for _ in range(2):
            asked(forge, lambda forge: forge.get_pull(1))
