"""Whose word counts, and what is said of those who can give it."""

import pytest

from gitbot.execution.approval import (
    GONE,
    NO_ACCOUNT,
    MergedPull,
    PullReview,
    consenting,
    is_bot,
    judge,
)
from gitbot.model.ledger.events import PlanShown, Shown
from gitbot.model.ledger.ledger import pull_file
from gitbot.model.ledger.owner_approval import RequiredApproval, missing

DIGEST = "sha256:aa"


def review(reviewer: str, *, time: int = 20, approved: bool = True, **more: object) -> PullReview:
    facts = {"commit": "head", "can_write": True, **more}
    return PullReview(reviewer=reviewer, approved=approved, time=time, **facts)  # type: ignore[arg-type]


def shown(time: int, digest: str) -> PlanShown:
    stands = Shown(head="head", base="b", expires_at="2026-10-01T00:00:00Z")
    return PlanShown(file=pull_file(1), time=time, pull_request=1, digest=digest, shown=stands)


def given(*reviews: PullReview, author_consents: bool = False) -> set[str]:
    pull = MergedPull(
        number=1,
        author="ann",
        head="head",
        merge_commit="merge",
        merged_by="bob",
        merged_at=30,
        reviews=reviews,
        records=(shown(10, "sha256:old"), shown(15, DIGEST)),
    )
    found = consenting(pull, DIGEST, bot="gitbot", author_consents=author_consents)
    return set(found)


CASES = [
    ([review("dora")], {"dora"}),
    ([review("dora", time=40)], {"dora"}),  # after the merge
    ([review("dora", commit="older")], set()),
    ([review("dora", can_write=False)], set()),
    ([review("dora", time=12)], set()),  # another plan was shown then
    ([review("dora"), review("dora", time=21, approved=False)], set()),
    ([review("dora", approved=False), review("dora", time=21)], {"dora"}),
    ([review("ann")], set()),  # not by a review of their own
    ([review("gitbot"), review("dependabot[bot]")], set()),
]


@pytest.mark.parametrize(("reviews", "accounts"), CASES)
def test_who_consents(reviews: list[PullReview], accounts: set[str]) -> None:
    assert given(*reviews) == accounts


def test_an_author_consents_who_may_write() -> None:
    assert given(author_consents=True) == {"ann"}
    assert is_bot("renovate[bot]", "gitbot")
    assert not is_bot("robot", "gitbot")


def test_what_is_missing_names_who_can_and_who_cannot() -> None:
    teams = {"@acme/a": frozenset({"Dora", "ann", "gitbot"})}
    needs = (
        RequiredApproval(
            subject="namespace a", owners=("@acme/a", "@acme/gone", "mail@example.com")
        ),
        RequiredApproval(subject="zone scu", owners=("@Olga",)),
    )
    nobody = judge(needs, frozenset(), members=teams.get, bot="gitbot")
    assert missing(nobody) == (
        f"waits for the approval of @acme/a (Dora, ann) or @acme/gone ({GONE}) or "
        f"mail@example.com ({NO_ACCOUNT}) for namespace a; and of @Olga for zone scu"
    )
    both = judge(needs, frozenset({"dora", "olga"}), members=teams.get, bot="gitbot")
    assert [consent.by for consent in both] == [("dora",), ("olga",)]
    assert missing(both) == ""
    assert [consent.line for consent in both] == ["namespace a by dora", "zone scu by olga"]
