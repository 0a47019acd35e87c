"""Requests: reads are repeated, writes are looked for, the budget is kept."""

import itertools
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from gitbot.adapters.forges.github.api import GitHubApi
from gitbot.adapters.forges.rest.api import READS
from gitbot.adapters.forges.rest.budget import MAX_WAIT, BudgetSpent, Priority, RequestBudget
from gitbot.adapters.forges.rest.refusals import RestRefusal, Unanswered
from gitbot.errors import ForgeError
from tests.unit.adapters.github.scripted import (
    FakeClock,
    Reply,
    Request,
    api_for,
    credentials_for,
    forge_for,
    serving,
)


def in_turn(*replies: Reply) -> Callable[[Request], Reply]:
    """One reply after the other; the last one again and again."""
    rest = itertools.chain(replies, itertools.repeat(replies[-1]))
    return lambda _: next(rest)


SECONDARY = {"message": "You have exceeded a secondary rate limit."}
GOOD = Reply(body={"ok": True})


@pytest.mark.parametrize(
    ("replies", "asked", "slept"),
    [
        ([GOOD], 1, 0),
        ([Reply(status=502), GOOD], 2, 1),
        ([Reply(status=503), Reply(status=500), GOOD], 3, 3),
        ([Reply(lost=True), GOOD], 2, 1),
        ([Reply(status=200, body="<html>half"), GOOD], 1, None),
        ([Reply(status=429, headers={"Retry-After": "7"}), GOOD], 2, 7),
        ([Reply(status=403, headers={"Retry-After": "30"}, body=SECONDARY), GOOD], 2, 30),
        ([Reply(status=403, body=SECONDARY), GOOD], 2, 60),
        ([Reply(status=404, body={"message": "Not Found"}), GOOD], 1, None),
        ([Reply(status=502)], READS, None),
    ],
)
def test_reads_are_repeated_as_github_asks(
    replies: list[Reply], asked: int, slept: int | None
) -> None:
    clock = FakeClock()
    with serving(in_turn(*replies)) as server:
        api = api_for(server, clock)
        if slept is None:
            with pytest.raises(ForgeError):
                api.get("look", "/x")
        else:
            assert api.get("look", "/x").body == {"ok": True}
            assert sum(clock.slept) == slept
        assert len(server.seen) == asked


def test_the_primary_limit_is_waited_for_or_given_up() -> None:
    for seconds, waits in ((50, True), (MAX_WAIT + 500, False)):
        clock = FakeClock()
        headers = {
            "x-ratelimit-limit": "5000",
            "x-ratelimit-remaining": "0",
            "x-ratelimit-reset": str(clock.now() + seconds),
        }
        with serving(in_turn(Reply(status=403, headers=headers, body={}), GOOD)) as server:
            api = api_for(server, clock)
            if waits:
                assert api.get("look", "/x").body == {"ok": True}
                assert clock.slept == [seconds]
            else:
                with pytest.raises(BudgetSpent, match="rate limit leaves nothing"):
                    api.get("look", "/x")


@pytest.mark.parametrize("broken", [Reply(lost=True), Reply(status=502), Reply(status=500)])
def test_a_write_that_was_done_is_not_sent_again(broken: Reply) -> None:
    done: list[Any] = []

    def script(request: Request) -> Reply:
        if request.verb == "POST":
            done.append(request.body)
            return broken
        return Reply(body=done)

    with serving(script) as server:
        api = api_for(server)
        found = api.write(
            "say", "POST", "/said", {"a": 1}, resolve=lambda: api.get("l", "/said").body or None
        )
    assert (found, done) == ([{"a": 1}], [{"a": 1}])


def test_a_write_that_was_not_done_is_sent_once_more_after_looking() -> None:
    done: list[Any] = []

    def script(request: Request) -> Reply:
        if request.verb == "GET":
            return Reply(body=done)
        if len(server.asked()) == 1:
            return Reply(lost=True)  # before it was done
        done.append(request.body)
        return Reply(status=201, body=request.body)

    with serving(script) as server:
        api = api_for(server)
        api.write("say", "POST", "/said", {}, resolve=lambda: api.get("l", "/said").body or None)
        assert server.asked() == ["POST /said", *["GET /said"] * 3, "POST /said"]


def test_a_write_that_nobody_knows_of_ends_after_two_tries() -> None:
    with serving(in_turn(Reply(status=502))) as server:
        with pytest.raises(Unanswered, match="broke down \\(502\\) when asked to say"):
            api_for(server).write("say", "POST", "/said", {}, resolve=lambda: None)
        assert server.asked() == ["POST /said"] * 2


def test_a_write_refused_for_too_many_requests_waits_and_goes_on() -> None:
    clock = FakeClock()
    limited = Reply(status=403, headers={"Retry-After": "11"}, body=SECONDARY)
    with serving(in_turn(limited, Reply(status=201, body={"id": 1}))) as server:
        body = api_for(server, clock).write("say", "POST", "/said", {}, resolve=lambda: None)
        assert (body, clock.slept, len(server.seen)) == ({"id": 1}, [11], 2)


def test_a_refused_write_is_not_repeated() -> None:
    body = {"message": "Validation Failed", "errors": [{"resource": "Issue", "code": "invalid"}]}
    with serving(in_turn(Reply(status=422, body=body))) as server:
        with pytest.raises(RestRefusal, match="Validation Failed: Issue invalid"):
            api_for(server).write("say", "POST", "/said", {}, resolve=lambda: None)
        assert len(server.seen) == 1


def test_pages_are_followed_to_the_end() -> None:
    def script(request: Request) -> Reply:
        page = int(request.query.get("page", "1"))
        link = f'<{server.url}/many?page={page + 1}&per_page=100>; rel="next", <x>; rel="last"'
        headers = {"Link": link} if page < 3 else {}
        return Reply(body=[page], headers=headers)

    with serving(script) as server:
        assert list(api_for(server).pages("list", "/many")) == [1, 2, 3]
        assert {request.query["per_page"] for request in server.seen} == {"100"}


def test_an_answer_that_did_not_change_is_not_paid_twice() -> None:
    def script(request: Request) -> Reply:
        if request.headers.get("if-none-match") == '"1"':
            return Reply(status=304, body="")
        return Reply(body={"n": 1}, headers={"ETag": '"1"'})

    with serving(script) as server:
        api = api_for(server)
        assert api.get("look", "/x").body == api.get("look", "/x").body == {"n": 1}
        assert [request.headers.get("if-none-match") for request in server.seen] == [None, '"1"']


RIGHTS = "x-accepted-github-permissions"
HINTS: list[tuple[int, dict[str, str], str, str]] = [
    (401, {}, "Bad credentials", "revoked or expired"),
    (403, {RIGHTS: "checks=write"}, "Resource not accessible", "needs checks: write"),
    (
        403,
        {RIGHTS: "issues=write,metadata=read; pull_requests=write"},
        "Resource not accessible",
        "needs issues: write and metadata: read or pull_requests: write",
    ),
    (404, {"x-accepted-oauth-scopes": "repo"}, "Not Found", "needs the scope repo to see it"),
    (
        403,
        {},
        "GitHub Actions is not permitted to create or approve pull requests.",
        "Allow GitHub Actions to create and approve pull requests",
    ),
    (403, {}, "This installation has been suspended", "unsuspend"),
    (403, {}, "Repository was archived so is read-only.", "archived"),
    (307, {}, "Moved", "renamed or moved"),
]


@pytest.mark.parametrize(("status", "headers", "said", "hint"), HINTS)
def test_a_refusal_names_what_is_missing(
    status: int, headers: dict[str, str], said: str, hint: str
) -> None:
    reply = Reply(status=status, headers=headers, body={"message": said})
    with serving(in_turn(reply)) as server, pytest.raises(RestRefusal) as caught:
        api_for(server).get("look at it", "/x")
    assert f"refused to look at it ({status}): {said.rstrip(chr(46))}" in caught.value.message
    assert hint in caught.value.hint
    assert "ghs_canary" not in f"{caught.value} {caught.value!r}"


def test_safety_goes_before_what_looks_nice() -> None:
    budget, now = RequestBudget(), 1_000
    for remaining, waits in (
        (5000, {}),
        (1000, {Priority.COSMETIC}),
        (400, {Priority.COSMETIC, Priority.NORMAL}),
        (1, {Priority.COSMETIC, Priority.NORMAL}),
        (0, {Priority.COSMETIC, Priority.NORMAL, Priority.SAFETY}),
    ):
        budget.learn(
            {
                "x-ratelimit-limit": "5000",
                "x-ratelimit-remaining": str(remaining),
                "x-ratelimit-reset": str(now + 3000),
            }
        )
        for priority in Priority:
            if priority in waits:
                with pytest.raises(BudgetSpent):
                    budget.wait_for(priority, write=False, now=now)
            else:
                assert budget.wait_for(priority, write=False, now=now) == 0


def test_content_writes_are_spread() -> None:
    budget = RequestBudget()
    for second in range(60):
        assert budget.wait_for(Priority.NORMAL, write=True, now=second // 2) == 0
        budget.wrote(second // 2)
    assert budget.wait_for(Priority.NORMAL, write=True, now=30) == 30
    assert budget.wait_for(Priority.SAFETY, write=True, now=30) == 0
    with pytest.raises(BudgetSpent):
        budget.wait_for(Priority.COSMETIC, write=True, now=30)


@pytest.mark.parametrize(
    ("ahead", "takes", "skew"),
    [(0, 0, 0), (45, 0, 45), (-45, 0, -44), (-1, 0, 0), (0, 40, 0), (45, 40, 5), (-45, 40, -44)],
)
def test_how_far_its_clock_is_away(ahead: int, takes: int, skew: int) -> None:
    """A slow answer is not a wrong clock; a Date is cut to whole seconds."""
    clock = FakeClock()

    def send(*_: Any, **__: Any) -> tuple[int, dict[str, Any], str]:
        date = formatdate(clock.now() + ahead, usegmt=True)
        clock.sleep(takes)
        return 200, {"Date": date}, "{}"

    api = GitHubApi.of(credentials_for("https://api.example.org"), clock=clock, send=send)
    api.get("look", "/x")
    assert api.skew == skew


REVIEWS: list[tuple[dict[str, Reply], int | None]] = [
    ({}, 0),
    ({"rules": Reply(body=[{"type": "pull_request",
                            "parameters": {"required_approving_review_count": 2}}])}, 2),
    ({"rules": Reply(status=404, body={"message": "Not Found"})}, 0),
    ({"rules": Reply(status=403, body={"message": "Upgrade to GitHub Pro or make this public"})},
     0),
    ({"branch": Reply(body={"protected": True}),
      "protection": Reply(body={"required_pull_request_reviews":
                                {"required_approving_review_count": 1}})}, 1),
    ({"branch": Reply(body={"protected": True}),
      "protection": Reply(status=404, body={"message": "Branch not protected"})}, 0),
    ({"branch": Reply(body={"protected": True}),
      "protection": Reply(status=403, body={"message": "Resource not accessible"})}, None),
    # classic protection may ask for more than the ruleset: nobody knows
    ({"branch": Reply(body={"protected": True, "protection": {"enabled": True}}),
      "rules": Reply(body=[{"type": "pull_request",
                            "parameters": {"required_approving_review_count": 1}}]),
      "protection": Reply(status=403, body={"message": "Resource not accessible"})}, None),
    # a ruleset alone makes the branch protected, and the token of a job reads it
    ({"branch": Reply(body={"protected": True, "protection": {"enabled": False}}),
      "rules": Reply(body=[{"type": "pull_request",
                            "parameters": {"required_approving_review_count": 1}}]),
      "protection": Reply(status=403, body={"message": "Resource not accessible"})}, 1),
    # rules there are, for they alone protect the branch: a 404 hides them
    ({"rules": Reply(status=404, body={"message": "Not Found"}),
      "branch": Reply(body={"protected": True, "protection": {"enabled": False}})}, None),
    ({"rules": Reply(status=403, body={"message": "Resource not accessible"})}, None),
]  # fmt: skip


@pytest.mark.parametrize(("replies", "count"), REVIEWS)
def test_how_many_reviews_a_branch_asks_for(replies: dict[str, Reply], count: int | None) -> None:
    known = {"rules": Reply(body=[]), "branch": Reply(body={"protected": False}), **replies}

    def script(request: Request) -> Reply:
        if request.path.endswith("/protection"):
            return known["protection"]
        return known["rules" if "/rules/" in request.path else "branch"]

    with serving(script) as server:
        forge = forge_for(server)
        if count is None:
            with pytest.raises(ForgeError):
                assert forge.reviews_required
        else:
            assert forge.reviews_required == count
        forge.require_reviews(3)
        assert forge.reviews_required == 3
