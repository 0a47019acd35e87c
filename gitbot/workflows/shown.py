"""What gitbot's own pull request of a concern shows: comment, checks and labels."""

from __future__ import annotations

from gitbot.model.ledger import Ledger
from gitbot.ports.forge import PullRequest, is_marked
from gitbot.reports import markdown, marker
from gitbot.workflows.check import CheckResult
from gitbot.workflows.feedback import set_check
from gitbot.workflows.labels import PLANNED, RETURN, STALE, set_labels
from gitbot.workflows.review import Review
from gitbot.workflows.reviewed import CHANGED, changed_since_review, proposed, superseded
from gitbot.workflows.shell import Shell
from gitbot.workflows.verdicts import checks_of


def show_proposal(
    shell: Shell,
    ledger: Ledger,
    *,
    concern: str,
    pull: PullRequest,
    head: str,
    review: Review,
) -> None:
    """Say the plan that merging `head` approves; all of it says where it changed since a review."""
    shown = proposed(ledger, shell.cluster_name, concern)
    whole = shell.forge.get_pull(pull.number)
    times = [(item.time, item.digest) for item in shown]
    changed = changed_since_review(shell.forge, whole, times, review.digest)
    notice = CHANGED if changed else ""
    body = markdown(review.diff, notice=notice, superseded=superseded(shown, review.digest))
    shell.forge.upsert_comment(pull.number, marker=marker(shell.cluster_name), body=body)
    show_checks(shell, head, review, notice=notice)
    set_labels(shell, whole, labels_of(concern, changed=bool(notice)))


def show_checks(shell: Shell, head: str, review: Review, *, notice: str = "") -> None:
    """The checks of a proposal: what it leaves out is said, and is no reason against the rest."""
    outcome = CheckResult(findings=review.findings, review=review, cluster=shell.cluster_name)
    for verdict in checks_of(shell, outcome, notice=notice, failing=False):
        set_check(shell, head, verdict)


def labels_of(concern: str, *, changed: bool) -> frozenset[str]:
    """The labels of a proposal."""
    found = {PLANNED, *({STALE} if changed else ())}
    return frozenset(found | ({RETURN} if concern.startswith("return-") else set()))


def is_shown(shell: Shell, pull: PullRequest) -> bool:
    """Whether comment and labels of a proposal stand as its last plan left them."""
    mark, own = marker(shell.cluster_name), shell.forge.bot
    comments = shell.forge.list_comments(pull.number)
    stands = any(is_marked(item.body, mark) and item.author == own for item in comments)
    return stands and STALE not in pull.labels  # a new review may have come
