"""What gitbot first said about a merge, in the ledger.

Required reviews and rights are read when a merge is first seen. If they are changed later, a merge
that was refused must not fire, months after people have forgotten it.
"""

from __future__ import annotations

from gitbot.execution.approval import MergedPull, NotApproved
from gitbot.execution.executor_types import Approval
from gitbot.model.ledger.events import Judged, LedgerEvent, MergeJudged, MergeState, MoveApproved
from gitbot.model.ledger.ledger import Ledger, pull_file
from gitbot.ports.forge import PullRequest
from gitbot.workflows.core.context import RunContext

_AGREED = 60  # seconds in which a forge may not yet list every review of a merge


def refused_before(ledger: Ledger, pull: PullRequest, cluster: str) -> NotApproved | None:
    """The refusal in the ledger. Only another pull request can approve the plan again."""
    known = ledger.judged(pull.number, cluster=cluster)
    if known is None or known.state is not MergeState.REFUSED:
        return None
    return NotApproved(
        pull_request=pull.number,
        reason=known.reason,
        head=known.judged.head,
        merged_at=pull.merged_at,
        lacks_reviews=True,
    )


def judge_merge(
    shell: RunContext,
    ledger: Ledger,
    decision: Approval | NotApproved,
    facts: MergedPull | None,
) -> list[MergeJudged]:
    """The line about a merge whose reviews were read; none if the ledger says what counted."""
    number, cluster = decision.pull_request, shell.cluster_name
    if facts is None or ledger.judged(number, cluster=cluster) is not None:
        return []
    now = shell.clock.now()
    refused = isinstance(decision, NotApproved)
    if refused and now - facts.merged_at < _AGREED:
        return []
    approval = None if isinstance(decision, NotApproved) else decision
    return [
        MergeJudged(
            file=pull_file(number),
            time=now,
            cluster=cluster,
            state=MergeState.REFUSED if approval is None else MergeState.COUNTED,
            pull_request=number,
            commit=facts.merge_commit,
            digest=approval.digest if approval else "",
            reason=decision.reason if isinstance(decision, NotApproved) else "",
            author=facts.author,
            approvers=approval.approvers if approval else (),
            merger=facts.merged_by,
            judged=Judged(head=facts.head, required=facts.reviews_required),
        )
    ]


def to_write(
    judged: tuple[MergeJudged, ...], ledger: Ledger, events: tuple[LedgerEvent, ...]
) -> tuple[MergeJudged, ...]:
    """The lines that neither the ledger has, nor a move that these events approve says.

    A plan that the ledger has accepted was approved: its reviews can only pause it now.
    """
    if not judged:
        return ()
    approved = {
        event.pull_request
        for event in (*ledger.requests(judged[0].cluster), *events)
        if isinstance(event, MoveApproved)
    }
    return tuple(
        item
        for item in judged
        if item.pull_request not in approved
        and ledger.judged(item.pull_request, cluster=item.cluster) is None
    )
