"""Which server, which token, which project; and no token in any message."""

import pytest

from gitbot.adapters.forges.gitlab.api import GitLabApi
from gitbot.adapters.forges.gitlab.connect import open_gitlab
from gitbot.errors import ForgeError, UsageError
from gitbot.settings import is_gitlab_repository
from tests.unit.adapters.github.scripted import FakeClock, Reply, Request, serving

CANARY = "glpat-that-must-not-leave"


def opened(**environment: str) -> str:
    connection = open_gitlab(
        address="https://git.example.org",
        named="origin",
        origin="git@git.example.org:acme/site/placement.git",
        base_branch="main",
        clock=FakeClock(),
        environment=environment,
    )
    assert CANARY not in repr(connection)
    return connection.remote


def test_the_project_of_the_clone_may_be_in_groups_of_any_depth() -> None:
    remote = "https://git.example.org/acme/site/placement.git"
    assert opened(GITBOT_GITLAB_TOKEN=CANARY) == remote


def test_the_token_goes_to_one_server() -> None:
    with pytest.raises(UsageError, match=r"GITBOT_GITLAB_URL is https://other\.example\.org"):
        opened(GITBOT_GITLAB_TOKEN=CANARY, GITBOT_GITLAB_URL="https://other.example.org")


def test_the_token_of_a_job_is_not_taken_for_one() -> None:
    with pytest.raises(UsageError, match="CI_JOB_TOKEN may not open") as raised:
        opened(CI_JOB_TOKEN=CANARY)
    assert CANARY not in f"{raised.value} {raised.value.hint}"
    with pytest.raises(UsageError, match=r"act with on GitLab;"):
        opened()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=302, headers={"Location": "http://127.0.0.1:1/"}),
        Reply(status=401, body={"message": "401 Unauthorized"}),
        Reply(status=404, body="<html>"),
        Reply(status=500, body="<html>"),
        Reply(status=200, body="<html>"),
        Reply(lost=True),
    ],
)
def test_no_answer_takes_the_token_elsewhere(reply: Reply) -> None:
    with serving(lambda _: reply) as server:
        api = GitLabApi.of(server.url, CANARY, clock=FakeClock())
        with pytest.raises(ForgeError) as raised:
            api.get("look", "/x")
    assert CANARY not in f"{raised.value} {raised.value.hint} {api!r}"
    assert {item.headers["private-token"] for item in server.seen} == {CANARY}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"message": "405 Method Not Allowed"}, "405 Method Not Allowed"),
        ({"message": ["Another open merge request exists", "x"]}, "exists: x"),
        ({"message": {"title": ["can't be blank"]}}, "title can't be blank"),
        ({"error": "insufficient_scope"}, "insufficient_scope"),
        ({"message": {"a": {"b": ["c"]}}}, "a b c"),
        ([], "no reason given"),
    ],
)
def test_a_refusal_is_quoted_in_each_form_that_gitlab_has(message: object, said: str) -> None:
    with serving(lambda _: Reply(status=422, body=message)) as server:
        api = GitLabApi.of(server.url, CANARY, clock=FakeClock())
        with pytest.raises(ForgeError, match=said):
            api.write("do it", "POST", "/x", {}, resolve=lambda: None)


def test_pages_go_on_and_the_limit_of_the_answer_is_kept() -> None:
    def script(request: Request) -> Reply:
        page = int(request.query.get("page", 1))
        assert request.query["per_page"] == "100"
        headers = {"RateLimit-Limit": "600", "RateLimit-Remaining": "5", "RateLimit-Reset": "9999"}
        if page < 3:
            following = f"<{server.url}/api/v4/x?id=1&page={page + 1}&per_page=100>"
            headers["Link"] = f'{following}; rel="next", {following}; rel="last"'
        return Reply(body=[page], headers=headers)

    with serving(script) as server:
        api = GitLabApi.of(server.url, CANARY, clock=FakeClock())
        assert list(api.pages("list", "/x")) == [1, 2, 3]
    assert (api.budget.limit, api.budget.remaining) == (600, 5)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("acme/placement", True), ("acme/site/rack-1/placement", True), ("_a/b.c", True),
        ("placement", False), ("acme/", False), ("/acme/x", False), ("a//b", False),
        ("a/..", False), ("a/b.", False), ("a/b c", False), ("a/b\n", False), ("a/-b", False),
    ],
)  # fmt: skip
def test_names_of_projects(name: str, right: bool) -> None:
    assert is_gitlab_repository(name) is right
