"""Requests to Gitea: pages by their count, no redirect, no token in any message."""

import pytest

from gitbot.adapters.forges.gitea.api import GiteaApi
from gitbot.adapters.forges.gitea.connect import SERVER, open_gitea
from gitbot.errors import ForgeError, UsageError
from tests.unit.adapters.github.scripted import FakeClock, Reply, Request, serving

CANARY = "a-token-that-must-not-leave"


@pytest.mark.parametrize(
    ("size", "counted", "asked"),
    [(2, True, 3), (5, True, 1), (5, False, 1), (50, True, 1)],
)
def test_all_pages_are_read_however_small_the_server_makes_them(
    size: int, counted: bool, asked: int
) -> None:
    def script(request: Request) -> Reply:
        start = (int(request.query["page"]) - 1) * size
        headers = {"X-Total-Count": "5"} if counted else {}
        return Reply(body=list(range(5))[start : start + size], headers=headers)

    with serving(script) as server:
        api = GiteaApi.of(server.url, CANARY, clock=FakeClock())
        assert list(api.pages("list", "/x")) == [0, 1, 2, 3, 4]
        assert len(server.seen) == asked


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=307, headers={"Location": "http://127.0.0.1:1/"}),
        Reply(status=401, body={"message": "no"}),
        Reply(status=500, body="<html>"),
        Reply(status=200, body="<html>"),
        Reply(lost=True),
    ],
)
def test_no_answer_takes_the_token_elsewhere(reply: Reply) -> None:
    with serving(lambda _: reply) as server:
        api = GiteaApi.of(server.url, CANARY, clock=FakeClock())
        with pytest.raises(ForgeError) as raised:
            api.get("look", "/x")
    assert CANARY not in f"{raised.value} {raised.value.hint} {api!r}"
    assert {item.headers["authorization"] for item in server.seen} == {f"token {CANARY}"}


def test_a_write_whose_answer_is_lost_is_looked_for() -> None:
    made: list[str] = []

    def script(request: Request) -> Reply:
        made.append(request.verb)
        return Reply(lost=True)

    with serving(script) as server:
        api = GiteaApi.of(server.url, CANARY, clock=FakeClock())
        assert api.write("make", "POST", "/x", {}, resolve=lambda: "found") == "found"
    assert made == ["POST"]


@pytest.mark.parametrize(
    ("given", "configured", "address"),
    [
        ("", "https://git.example.org/", "https://git.example.org"),
        ("https://git.example.org", "", "https://git.example.org"),
        ("http://g:3000/gitea/", "http://g:3000/gitea", "http://g:3000/gitea"),
        ("https://git.example.org", "https://evil.example.org", None),
        ("", "", None),
        ("file:///etc", "", None),
        ("https://me:pass@git.example.org", "", None),
    ],
)
def test_the_token_goes_to_one_server(given: str, configured: str, address: str | None) -> None:
    environment = {"GITBOT_GITEA_URL": given}
    if address is not None:
        assert SERVER.address_in(environment, configured) == address
        return
    with pytest.raises(UsageError):
        SERVER.address_in(environment, configured)


def test_the_repository_is_the_one_of_the_clone() -> None:
    connection = open_gitea(
        address="https://git.example.org",
        named="origin",
        origin="git@git.example.org:acme/placement.git",
        base_branch="main",
        clock=FakeClock(),
        environment={"GITBOT_GITEA_TOKEN": CANARY},
    )
    assert connection.remote == "https://git.example.org/acme/placement.git"
    assert CANARY not in repr(connection)
