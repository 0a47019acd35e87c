"""What a merge approved: the last plan shown before the newest review, and nothing else."""

import pytest

from gitbot.execution.approval import (
    MergedPull,
    NotApproved,
    ProposalFact,
    PullReview,
    decide,
)
from gitbot.execution.executor_types import Approval
from gitbot.model.ledger.events import PlanShown, Shown
from gitbot.model.text.instants import format_instant

HEAD = "a" * 40
OLD = "b" * 40


def shown(digest: str, time: int, *, head: str = HEAD, expires_at: int = 1_000) -> PlanShown:
    told = Shown(head=head, base="c" * 40, expires_at=format_instant(expires_at))
    return PlanShown(file="pulls/7.jsonl", time=time, pull_request=7, digest=digest, shown=told)


def review(reviewer: str, time: int, **fields: object) -> PullReview:
    known: dict[str, object] = {"approved": True, "commit": HEAD, "can_write": True}
    return PullReview(reviewer=reviewer, time=time, **{**known, **fields})  # type: ignore[arg-type]


def pull(*records: PlanShown, **fields: object) -> MergedPull:
    plain = MergedPull(
        number=7,
        author="ann",
        head=HEAD,
        merge_commit="d" * 40,
        merged_by="bob",
        merged_at=100,
        records=records,
    )
    return plain.replace(**fields)


@pytest.mark.parametrize(
    ("name", "merged", "digest"),
    [
        ("the last record before the merge", pull(shown("x", 10)), "x"),
        ("renewed with the same plan", pull(shown("x", 10), shown("x", 50)), "x"),
        ("planned anew before the merge", pull(shown("x", 10), shown("y", 50)), "y"),
        ("a record after the merge changes nothing", pull(shown("x", 10), shown("y", 101)), "x"),
        ("a record of an older head does not count",
         pull(shown("x", 10), shown("y", 20, head=OLD)), "x"),
        ("reviewed after it was shown",
         pull(shown("x", 10), reviews=(review("eve", 20),), reviews_required=1), "x"),
        ("renewed after the review",
         pull(shown("x", 10), shown("x", 50), reviews=(review("eve", 20),), reviews_required=1),
         "x"),
        ("the newest word of a reviewer counts",
         pull(shown("x", 10), reviews=(review("eve", 15, approved=False), review("eve", 20)),
             reviews_required=1), "x"),
        ("two reviews of one plan, which was renewed between them",
         pull(shown("x", 10), shown("x", 25), reviews=(review("eve", 20), review("dan", 30)),
             reviews_required=2), "x"),
        ("planned back and forth: both approved this very plan",
         pull(shown("x", 10), shown("y", 22), shown("x", 26), reviews=(review("eve", 20),
             review("dan", 30)), reviews_required=2), "x"),
        ("of two that approve, the one that is needed approved this plan",
         pull(shown("x", 10), shown("y", 22), reviews=(review("eve", 20), review("dan", 30)),
             reviews_required=1), "y"),
        ("shown in the second of the review: the only plan there ever was",
         pull(shown("x", 20), reviews=(review("eve", 20),), reviews_required=1), "x"),
        ("renewed in the second of the review",
         pull(shown("x", 10), shown("x", 20), reviews=(review("eve", 20),), reviews_required=1),
         "x"),
        ("approved once more after the merge",
         pull(shown("x", 10), reviews=(review("eve", 20), review("eve", 120)), reviews_required=1),
         "x"),
    ],
)  # fmt: skip
def test_a_merge_approves_what_was_shown(name: str, merged: MergedPull, digest: str) -> None:
    decision = decide(merged)
    assert isinstance(decision, Approval), name
    assert (decision.digest, decision.pull_request, decision.merger) == (digest, 7, "bob")


@pytest.mark.parametrize(
    ("merged", "reason"),
    [
        (pull(), "no plan was shown for the merged head"),
        (pull(shown("x", 10, head=OLD)), "no plan was shown for the merged head"),
        (pull(shown("x", 101)), "no plan was shown for the merged head"),
        (pull(shown("x", 10, expires_at=99)), "the plan had expired when it was merged"),
        (pull(shown("x", 10), shown("", 20)), "an error, not a plan"),
        (pull(shown("x", 10), reviews_required=1), "1 approvals of the merged head"),
        (pull(shown("x", 10), reviews=(review("eve", 20, commit=OLD),), reviews_required=1),
         "1 approvals of the merged head"),
        (pull(shown("x", 10), reviews=(review("ann", 20),), reviews_required=1),
         "1 approvals of the merged head"),
        (pull(shown("x", 10), reviews=(review("eve", 20, can_write=False),), reviews_required=1),
         "1 approvals of the merged head"),
        (pull(shown("x", 10), reviews=(review("eve", 20), review("eve", 30, approved=False)),
         reviews_required=1), "1 approvals of the merged head"),
        (pull(shown("x", 10), reviews=(review("eve", 120),), reviews_required=1),
         "1 approvals of the merged head"),
        (pull(shown("x", 10), reviews=(review("eve", 20), review("eve", 120, approved=False)),
         reviews_required=1), "1 approvals of the merged head"),
        (pull(shown("x", 10), reviews=(review("eve", 20), review("eve", 25)), reviews_required=2),
         "2 approvals of the merged head"),
        (pull(shown("x", 30), reviews=(review("eve", 20),), reviews_required=1),
         "only after the newest approval"),
        (pull(shown("x", 10), shown("y", 30), reviews=(review("eve", 20),), reviews_required=1),
         "another plan was shown between"),
        (pull(shown("x", 10), shown("y", 20), reviews=(review("eve", 20),), reviews_required=1),
         "another plan was shown in the same second as the newest approval"),
        (pull(shown("x", 20), shown("y", 20), reviews=(review("eve", 20),), reviews_required=1),
         "another plan was shown in the same second as the newest approval"),
        (pull(shown("x", 10), shown("y", 20), shown("y", 30), reviews=(review("eve", 20),),
         reviews_required=1), "another plan was shown in the same second as the newest approval"),
        (pull(shown("x", 10), shown("", 20), reviews=(review("eve", 20),), reviews_required=1),
         "another plan was shown in the same second as the newest approval"),
        (pull(shown("x", 10), shown("y", 100)),
         "another plan was shown in the same second as the merge"),
        (pull(shown("x", 10), shown("y", 25), reviews=(review("eve", 20), review("dan", 30)),
         reviews_required=2), "2 approvals of the plan that was shown last are required, 1 found"),
        (pull(shown("x", 10), shown("y", 20), reviews=(review("eve", 20), review("dan", 30)),
         reviews_required=2), "2 approvals of the plan that was shown last are required, 1 found"),
        (pull(shown("x", 25), reviews=(review("eve", 20), review("dan", 30)), reviews_required=2),
         "2 approvals of the plan that was shown last are required, 1 found"),
        (pull(proposal=ProposalFact(concern="heal-x", digest="x", expires_at=99)),
         "the proposal had expired"),
        (pull(proposal=ProposalFact(concern="heal-x", digest="x", expires_at=200),
         reviews_required=1), "1 approvals of the merged head"),
    ],
)  # fmt: skip
def test_a_merge_that_approves_nothing_says_why(merged: MergedPull, reason: str) -> None:
    decision = decide(merged)
    assert isinstance(decision, NotApproved)
    assert decision.reason.startswith("nothing is approved: ")
    assert reason in decision.reason


def test_a_proposal_approves_exactly_its_digest() -> None:
    proposal = ProposalFact(concern="heal-x", digest="x", expires_at=200)
    decision = decide(pull(shown("y", 10), proposal=proposal, reviews=(review("eve", 20),)))
    assert isinstance(decision, Approval)
    assert (decision.digest, decision.concern, decision.approvers) == ("x", "heal-x", ("eve",))


@pytest.mark.parametrize(("expires_at", "good"), [(99, False), (100, True), (0, True)])
def test_a_plan_is_good_up_to_the_second_in_which_it_expires(expires_at: int, good: bool) -> None:
    """It is merged at 100; 0: it does not expire."""
    proposal = ProposalFact(concern="c", digest="x", expires_at=expires_at)
    proposed, seen = pull(proposal=proposal), pull(shown("x", 10, expires_at=expires_at))
    for found in (decide(proposed), decide(seen)):
        assert isinstance(found, Approval) is good


def test_a_refusal_that_does_not_say_when_is_as_old_as_can_be() -> None:
    """So that nobody writes it to an old pull request."""
    assert decide(pull(number=8)) == NotApproved(
        pull_request=8,
        reason=f"nothing is approved: no plan was shown for the merged head {HEAD[:12]}",
        head=HEAD,
        merged_at=100,
    )
    assert NotApproved(pull_request=7, reason="unreadable").merged_at == 0
