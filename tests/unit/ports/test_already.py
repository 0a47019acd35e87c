"""What says the same already is not written again; what differs for a reader is."""

from dataclasses import replace

import pytest

from gitbot.model.ledger.events import PlanShown, Shown
from gitbot.ports.forge import CheckRun, CheckState, CommitStatus, Issue
from gitbot.ports.idempotence import is_up_to_date, needs_renewal

STATUS = CommitStatus(context="gitbot/plan", state=CheckState.SUCCESS, description="1 move")
CHECK = CheckRun(name="gitbot/plan", state=CheckState.SUCCESS, title="1 move", summary="all")
ISSUE = Issue(number=7, title="gitbot", body="<!-- m -->\ntext", author="bot")
SHOWN = PlanShown(
    file="pulls/1.jsonl",
    time=1,
    cluster="prod",
    pull_request=1,
    digest="sha256:1",
    shown=Shown(head="h", base="b", expires_at="2026-12-06T21:00:00Z", document="d"),
)


def shown(**changes: str) -> PlanShown:
    digest = changes.pop("digest", SHOWN.digest)
    parts = {"head": "h", "base": "b", "expires_at": "2027-12-06T21:00:00Z", "document": "d"}
    return PlanShown(
        file=SHOWN.file,
        time=99,
        cluster="prod",
        pull_request=1,
        digest=digest,
        shown=Shown(**{**parts, **changes}),
    )


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        (replace(STATUS, time=5), STATUS),
        (replace(STATUS, target_url="https://forge/added"), STATUS),
        (replace(CHECK, time=5), CHECK),
        (replace(ISSUE, number=9, url="u", author="other"), ISSUE),
        (SHOWN, shown()),
        ("a body", "a body"),
        (("a", "b"), ("a", "b")),
    ],
)
def test_what_says_the_same_is_not_written(there: object, wanted: object) -> None:
    assert is_up_to_date(there, wanted)


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        (replace(STATUS, description="2 moves"), STATUS),
        (replace(STATUS, state=CheckState.PENDING), STATUS),
        (replace(STATUS, context="gitbot/apply"), STATUS),
        (STATUS, replace(STATUS, target_url="https://forge/wanted")),
        (replace(CHECK, summary="less"), CHECK),
        (replace(CHECK, title="2 moves"), CHECK),
        (replace(ISSUE, body="other"), ISSUE),
        (replace(ISSUE, title="other"), ISSUE),
        (SHOWN, shown(head="h2")),
        (SHOWN, shown(base="b2")),
        (SHOWN, shown(digest="sha256:2")),
        ("a body", "another"),
        (("a",), ("a", "b")),
        (STATUS, CHECK),
    ],
)
def test_what_differs_for_a_reader_is_written(there: object, wanted: object) -> None:
    assert not is_up_to_date(there, wanted)


@pytest.mark.parametrize("wanted", [STATUS, CHECK, ISSUE, SHOWN, "text", ()])
def test_nothing_says_nothing(wanted: object) -> None:
    assert not is_up_to_date(None, wanted)


@pytest.mark.parametrize(("left", "soon"), [(100, False), (25, False), (24, True), (-5, True)])
def test_the_last_quarter_of_a_life_is_soon(left: int, soon: bool) -> None:
    assert needs_renewal(left=left, life=100) is soon
