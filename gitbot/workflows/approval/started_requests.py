"""Finishes requests that have started, even if their intent or approval has changed since.

The ledger records the terms on which a request started. If its approval no longer counts, no
further move of it starts; gitbot still watches running moves to their end and returns its nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitbot.execution.approval import NotApproved
from gitbot.execution.executor_types import Approval, Approved, Maintenance, Terms
from gitbot.execution.ledger_folds import (
    BUSY,
    drains_without_moves,
    fold_nodes,
    window_as_merged,
)
from gitbot.execution.request_records import RequestRecord
from gitbot.intents import IntentSet
from gitbot.model.ledger.events import MoveApproved
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import DrainId, RequestId
from gitbot.model.plan.plan import Hold
from gitbot.model.text.instants import Interval
from gitbot.published import PlanDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class UnapprovedPlan:
    """A plan of a started request that is no longer approved.

    `void`: the merge approves nothing. `paused`: the forge or Git cannot say whether it does.
    """

    request: RequestId
    approval: Approval
    void: str = ""
    paused: str = ""

    def on(self, terms: Terms) -> Terms:
        return terms.replace(void=self.void or terms.void, paused=self.paused)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRequests:
    """The requests of one cluster that its ledger has."""

    cluster: str
    ledger: Ledger
    records: Mapping[RequestId, RequestRecord]

    def accepted(self, approval: Approval) -> bool:
        """Whether moves of its plan entered the ledger by this merge; others may show the same."""
        moves = (move for record in self.records.values() for move in record.moves.values())
        wanted = approval.digest, approval.pull_request
        return any((move.digest, move.pull_request) == wanted for move in moves)

    def started(self, request: RequestId) -> bool:
        record = self.records.get(request)
        return record is not None and any(move.effects for move in record.moves.values())

    def terms(
        self, request: RequestId, document: PlanDocument, now: Terms | None, *, started: bool
    ) -> Terms:
        """Terms, as it started, of a request whose intent was removed (`now` is None) or void."""
        removed = "its intent was removed" if now is None else ""
        entered = self._entered(request)
        terms = entered[0] if entered is not None else Terms()
        void = removed or (now.void if now else "")
        if started and entered is not None:
            # A window without schedule is the exception: it is open only while its file exists.
            void = removed if _is_open_ended(request) else ""
        terms = terms.replace(void=void)
        return terms.replace(
            maintenance=self._maintenance(request, bool(removed), document.plan.holds)
        )

    def lapsed(
        self, approved: Iterable[Approved], refused: Iterable[NotApproved]
    ) -> tuple[UnapprovedPlan, ...]:
        counted = {(item.id, item.approval.digest) for item in approved}
        drained = {item.id for item in approved if item.terms.maintenance is not None}
        refusals = {item.pull_request: item for item in refused}
        found = []
        for name, record in self.records.items():
            for digest in self._open_plans(record, with_nodes=name not in drained):
                entered = self._entered(name, digest)
                if (name, digest) in counted or entered is None:
                    continue
                number = entered[1].pull_request
                paused, void = f"the forge does not list pull request {number} as merged", ""
                if (known := refusals.get(number)) is not None:
                    what = "is unknown" if known.unsure else "no longer counts"
                    paused = f"its approval {what}: {known.reason}"
                    ends = not (known.unsure or known.lacks_reviews)
                    if self._has_begun(name) and ends:
                        # Others may count again later, so they only wait.
                        void, paused = paused, ""
                found.append(
                    UnapprovedPlan(request=name, approval=entered[1], void=void, paused=paused)
                )
        return tuple(found)

    def without_moves(self, intents: IntentSet, known: Collection[RequestId]) -> Iterator[Approved]:
        """Drains that only cordoned, whose nodes are away, and that nothing else has approved now.

        Nothing of them begins; their nodes return.
        """
        for drain in drains_without_moves(self.ledger, self.cluster, self.records):
            occurrence = drain.occurrence
            nodes = fold_nodes(self.ledger, cluster=self.cluster, occurrence=occurrence).values()
            away = any(node.state in BUSY or node.cordoned_by_gitbot for node in nodes)
            if drain in known or not away:
                continue
            removed = intents.window(occurrence.window) is None
            yield Approved(
                id=drain,
                approval=Approval(digest="", pull_request=0),
                moves=(),
                terms=Terms(
                    paused="the forge does not list its pull request as merged",
                    maintenance=self._maintenance(drain, removed),
                ),
            )

    def _entered(self, request: RequestId, digest: str = "") -> tuple[Terms, Approval] | None:
        """Terms and approval with which a request, or one plan of it, entered the ledger."""
        for event in reversed(self.ledger.requests(self.cluster)):
            if not isinstance(event, MoveApproved) or event.request != request:
                continue
            if digest in ("", event.digest):
                return _terms(event), _approval(event)
        return None

    def _open_plans(self, record: RequestRecord, *, with_nodes: bool) -> tuple[str, ...]:
        """Digests of a request's plans with moves, or nodes, that have not ended."""
        known = record.id
        nodes = (
            fold_nodes(self.ledger, cluster=self.cluster, occurrence=known.occurrence)
            if isinstance(known, DrainId)
            else {}
        )
        moves = [move for _, move in sorted(record.moves.items())]
        found = dict.fromkeys(move.digest for move in moves if not move.final)
        busy = any(node.state in BUSY or node.cordoned_by_gitbot for node in nodes.values())
        if busy and with_nodes:
            found |= dict.fromkeys(move.digest for move in moves[-1:])
        return tuple(found)

    def _has_begun(self, request: RequestId) -> bool:
        if not isinstance(request, DrainId):
            return self.started(request)
        occurrence = request.occurrence
        known = window_as_merged(self.ledger, cluster=self.cluster, occurrence=occurrence)
        return known is not None or self.started(request)

    def _maintenance(
        self, request: RequestId, removed: bool, held: Iterable[Hold] = ()
    ) -> Maintenance | None:
        """The window's maintenance settings as they were when its first node started."""
        if not isinstance(request, DrainId):
            return None
        begun = window_as_merged(self.ledger, cluster=self.cluster, occurrence=request.occurrence)
        if begun is None:
            return None
        holds = [hold.vm.namespaced_name for hold in held if hold.request == request]
        return Maintenance(
            occurrence=request.occurrence,
            nodes=begun.nodes,
            max_nodes_at_once=begun.max_nodes_at_once,
            cordon=begun.cordon,
            stays=frozenset(holds) if begun.leave_running else frozenset(),
            done=begun.done,
            return_home=begun.return_home,
            removed=removed,
            together=begun.together,
        )


def _terms(event: MoveApproved) -> Terms:
    terms = event.terms
    return Terms(
        allowed=tuple(Interval(start=start, end=end) for start, end in terms.allowed),
        attempts=terms.attempts,
        finish=terms.finish,
        reason=event.reason,
    )


def _approval(event: MoveApproved) -> Approval:
    return Approval(
        digest=event.digest,
        pull_request=event.pull_request,
        commit=event.commit,
        author=event.author,
        approvers=event.approvers,
        merger=event.merger,
    )


def _is_open_ended(request: RequestId) -> bool:
    """Whether it drains a window without schedule."""
    return isinstance(request, DrainId) and request.occurrence.open_ended
