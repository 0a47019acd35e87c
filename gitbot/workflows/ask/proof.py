"""The chain of one request from its intent to its migrations, verified against the repository."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitbot.errors import UsageError
from gitbot.execution.request_records import fold_requests
from gitbot.intents import IntentSet
from gitbot.model.ledger.events import MoveApproved, MoveChanged, MoveEvent, RequestCancelled
from gitbot.model.ledger.ledger import Ledger, request_file
from gitbot.model.ledger.request_id import RequestId, request_called
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import counted, nearest
from gitbot.published import PlanDocument
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.revision import INTENTS, Revision, read_revision, texts_at
from gitbot.workflows.ledger.kept_plans import check_plans, plan_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One step of the chain: who did what, and what was checked. `wrong` is "" if it holds."""

    text: str
    wrong: str = ""


def prove(shell: RunContext, request: str) -> tuple[Link, ...]:
    """Every step of a request. Needs the repository alone.

    Raises UsageError for an unknown request, LedgerError if the ledger is damaged.
    """
    ledger = shell.ledger_store.read()  # the store verifies numbers and digests of all lines
    check_plans(ledger)
    records = fold_requests(ledger, shell.cluster_name)
    known = request_called(request, records)
    if known is None:
        near = nearest(request, sorted(records))
        hint = f"did you mean {near}?" if near else "gitbot ledger show -o name lists them"
        raise UsageError(f"the ledger knows no request {request}", hint=hint)
    return tuple(_links(shell, ledger, known))


def _links(shell: RunContext, ledger: Ledger, request: RequestId) -> Iterator[Link]:
    yield Link(text=f"ledger: {counted(len(ledger.events), 'line')}, the chain is whole")
    lines = ledger.of(request_file(shell.cluster_name, request))
    base = shell.repository.resolve(shell.base_branch) or ""
    approvals = [event for event in lines if isinstance(event, MoveApproved)]
    for first in {(item.digest, item.commit): item for item in reversed(approvals)}.values():
        yield from _approval(shell, ledger, first, base)
    for event in lines:
        if isinstance(event, MoveEvent | RequestCancelled):
            yield _step(event, {item.digest for item in approvals})


def _approval(shell: RunContext, ledger: Ledger, event: MoveApproved, base: str) -> Iterator[Link]:
    """Plan, pull request and merge of a move that was approved."""
    document = plan_of(ledger, event.digest)
    moves = document.plan.moves if document else ()
    named = any(str(move.vm.namespaced_name) == event.vm for move in moves)
    yield Link(
        text=f"plan {event.digest}: {counted(len(moves), 'move')}, its digest is right",
        wrong="" if named else f"it does not move {event.vm}",
    )
    for shown in ledger.shown(event.pull_request, cluster=shell.cluster_name):
        if shown.digest == event.digest:
            when = format_instant(shown.time)
            yield Link(text=f"shown: pull request {event.pull_request}, head {shown.head}, {when}")
    merged = event.commit and shell.repository.resolve(event.commit)
    part = bool(merged and base) and shell.repository.is_ancestor(event.commit, base)
    who = [f"merged by {event.merger}" if event.merger else "approved by policy"]
    who += [f"author {event.author}"] if event.author else []
    who += [f"reviewed by {', '.join(event.approvers)}"] if event.approvers else []
    pull, commit = event.pull_request, event.commit or "(none)"
    lacks = f"{shell.base_branch} does not have commit {commit}"
    text = f"approved: pull request {pull}, commit {commit}: {', '.join(who)}"
    yield Link(text=text, wrong="" if part else lacks)
    if merged and document is not None:
        yield from _intents(shell, document, event)


def _intents(shell: RunContext, document: PlanDocument, event: MoveApproved) -> Iterator[Link]:
    """The intents of the request's moves, compared with those of the approved commit."""
    refs = {move.intent.id: move.intent for move in document.plan.moves}
    planned = {name: digest for name, digest in document.plan.intents.items() if name in refs}
    there = _intents_at(shell, event.commit, document.plan.cluster) if planned else None
    for name, digest in sorted(planned.items()):
        found = there.by_id(name) if there is not None else None
        same = found is not None and found.spec_digest == digest
        place = f"{refs[name].file}:{refs[name].line}"
        yield Link(
            text=f"intent: {name}, {place}, {digest}",
            wrong="" if same else f"commit {event.commit} has another one",
        )


def _intents_at(shell: RunContext, commit: str, cluster: str) -> IntentSet | None:
    """The intents of a commit for the name that the cluster had in its plan."""
    if cluster == shell.cluster_name:
        return shell.read_base(commit).intents
    texts = texts_at(shell.repository, commit, commit=commit, intents=f"{INTENTS}{cluster}/")
    shipped = shell.read_base(base_head(shell)).revision.shipped
    read = read_revision(texts, cluster=cluster, shipped=shipped)
    return read.intents if isinstance(read, Revision) else None


def _step(event: MoveEvent | RequestCancelled, approved: set[str]) -> Link:
    """One line of the request."""
    head = f"{event.seq} {format_instant(event.time)}"
    if isinstance(event, RequestCancelled):
        return Link(text=f"{head} cancelled by {event.author}: {event.reason}")
    words = f"{head} move {event.move} of {event.vm} {event.state}"
    words += f": {event.source} -> {event.landed or event.to}"
    if isinstance(event, MoveChanged) and event.migration:
        words += f", migration {event.migration} {event.migration_uid}".rstrip()
    ours = not event.digest or event.digest in approved
    return Link(text=words, wrong="" if ours else f"nobody approved plan {event.digest}")
