"""What is approved, read from the forge and the ledger at the moment of applying."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gitbot.documents import read_documents
from gitbot.errors import InvalidInput, LedgerError, RepositoryError
from gitbot.execution.approval import (
    MergedPull,
    NotApproved,
    ProposalFact,
    decide,
)
from gitbot.execution.requests import RequestRecord, fold_requests, ledger_id
from gitbot.execution.state import fold_concern, fold_pull, window_as_merged
from gitbot.execution.values import Approval, Approved, Maintenance, Terms
from gitbot.intents import proposal_file
from gitbot.model.instants import Interval, parse_instant
from gitbot.model.ledger import Entry, Ledger
from gitbot.model.objects import at
from gitbot.model.plan_json import PlanDocument, read_plan
from gitbot.ports.forge import PullRequest, PullState
from gitbot.workflows.reviewed import review_fact
from gitbot.workflows.rewritten import is_part_of
from gitbot.workflows.shell import Base, Shell


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """Everything approved, in order of approval; and the merges that approved nothing."""

    approved: tuple[Approved, ...]
    refused: tuple[NotApproved, ...]


def concern_branch(cluster: str, concern: str) -> str:
    """The branch of a concern's pull request."""
    return f"gitbot/pull/{cluster}/{concern}"


def read_approvals(shell: Shell, base: Base, ledger: Ledger) -> Approvals:
    """Decide for every merged pull request of the base branch what it approved."""
    approved: list[Approved] = []
    refused: list[NotApproved] = []
    records = fold_requests(ledger, shell.cluster_name)
    finished = frozenset(name for name, record in records.items() if record.spent)
    first = first_pull(ledger, shell.cluster_name)
    pulls = shell.forge.list_pulls(state=PullState.MERGED, first=first)
    for pull in sorted(pulls, key=lambda item: (item.merged_at, item.number)):
        if pull.base_branch != shell.base_branch or not _concerns_us(shell, ledger, pull):
            continue
        decision = _edited(shell, ledger, pull) or _decide(shell, ledger, pull, finished)
        if isinstance(decision, NotApproved):
            refused.append(decision)
        elif not is_part_of(shell, decision.commit, base.commit):
            reason = f"its merge {decision.commit[:12]} is no longer part of {shell.base_branch}"
            refused.append(NotApproved(pull_request=pull.number, reason=reason))
        elif decision.digest not in ledger.plans:
            refused.append(_unknown_plan(decision))
        else:
            approved += _requests(shell, base, ledger, records, decision)
    for approval in _approved_alone(shell, ledger):
        approved += _requests(shell, base, ledger, records, approval)
    approved.sort(key=lambda item: item.approval.merged_at)
    return Approvals(approved=tuple(approved), refused=tuple(refused))


def first_pull(ledger: Ledger, cluster: str) -> int:
    """The lowest number of a pull request of which the ledger knows: older ones approve nothing.

    1 where one may be missing: a run that ended between opening it and writing down its number.
    """
    mine = [entry for entry in ledger.entries if entry.cluster == cluster]
    proposed = {entry.file for entry in mine if entry.state == "proposed"}
    if not proposed <= {entry.file for entry in mine if entry.state == "opened"}:
        return 1
    return min((entry.pull_request for entry in mine if entry.pull_request), default=1)


def _decide(
    shell: Shell, ledger: Ledger, pull: PullRequest, finished: frozenset[str]
) -> Approval | NotApproved:
    """What a merge approved. Reviews and merger are read where anything can still come of it.

    A history of merges grows for ever; of those whose requests all ended, nothing is asked again.
    """
    facts = merged_pull(shell, ledger, pull)
    if _is_settled(ledger, facts, finished):
        return decide(facts)
    whole = shell.forge.get_pull(pull.number)
    if (whole.merge_commit, whole.merged_at) != (pull.merge_commit, pull.merged_at):
        reason = "nothing is approved: the forge's answers about the merge do not agree yet"
        return NotApproved(pull_request=pull.number, reason=reason)
    reviewed = merged_pull(shell, ledger, whole)
    return decide(replace(reviewed, reviews_required=shell.forge.reviews_required))


def _is_settled(ledger: Ledger, facts: MergedPull, finished: frozenset[str]) -> bool:
    """Whether every request of every plan that the pull request showed has ended."""
    shown = {facts.proposal.digest} if facts.proposal else {item.digest for item in facts.records}
    for digest in shown - {""}:
        document = plan_of(ledger, digest)
        if document is None:
            return False
        requests = {ledger_id(move.request, digest) for move in document.plan.moves}
        if not requests <= finished:
            return False
    return True


def _edited(shell: Shell, ledger: Ledger, pull: PullRequest) -> NotApproved | None:
    """Refusal of a proposal file that somebody edited: digest, expiry or moves may lie."""
    concern = _concern_of(shell, pull)
    if not concern or is_as_written(shell, ledger, pull.merge_commit, concern):
        return None
    return NotApproved(
        pull_request=pull.number,
        reason="nothing is approved: the proposal file is not as gitbot wrote it",
        head=pull.merged_head or pull.head,
        merged_at=pull.merged_at,
    )


def is_as_written(shell: Shell, ledger: Ledger, rev: str, concern: str) -> bool:
    """Whether the proposal file of a concern at a commit, where there is one, is gitbot's own."""
    try:
        data = shell.repository.read_blob(rev, proposal_file(shell.cluster_name, concern))
    except RepositoryError:
        return True  # there is no proposal to be read either
    record = fold_concern(ledger, cluster=shell.cluster_name, concern=concern)
    return data is None or file_digest(data) in record.files


def file_digest(data: bytes) -> str:
    """Identity of a proposal file's bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _unknown_plan(approval: Approval) -> NotApproved:
    """A proposal file with a digest that gitbot never showed: somebody wrote it by hand."""
    return NotApproved(
        pull_request=approval.pull_request,
        reason=f"nothing is approved: the ledger knows no plan {approval.digest[:19] or '(none)'}",
        head=approval.head,
        merged_at=approval.merged_at,
    )


def _approved_alone(shell: Shell, ledger: Ledger) -> list[Approval]:
    """What the configuration lets gitbot approve by itself, within policy."""
    prefix = f"concerns/{shell.cluster_name}/"
    return [
        Approval(
            digest=entry.digest,
            commit=entry.commit,
            author=shell.forge.bot,
            merger="policy",
            merged_at=entry.time,
            concern=entry.file.removeprefix(prefix).removesuffix(".jsonl"),
        )
        for entry in ledger.entries
        if entry.state == "auto" and entry.file.startswith(prefix)
    ]


def _concerns_us(shell: Shell, ledger: Ledger, pull: PullRequest) -> bool:
    concern = _concern_of(shell, pull)
    if concern:
        return concern != "tidy"
    return bool(fold_pull(ledger, pull.number, cluster=shell.cluster_name))


def _concern_of(shell: Shell, pull: PullRequest) -> str:
    prefix = concern_branch(shell.cluster_name, "")
    own = pull.author == shell.forge.bot and pull.branch.startswith(prefix)
    return pull.branch.removeprefix(prefix) if own else ""


def merged_pull(shell: Shell, ledger: Ledger, pull: PullRequest) -> MergedPull:
    """The facts about one merged pull request, without how many reviews are required."""
    concern = _concern_of(shell, pull)
    return MergedPull(
        number=pull.number,
        author=pull.author,
        head=pull.merged_head or pull.head,
        merge_commit=pull.merge_commit,
        merged_by=pull.merged_by,
        merged_at=pull.merged_at,
        reviews=tuple(review_fact(review) for review in pull.reviews),
        proposal=read_proposal(shell, pull.merge_commit, concern) if concern else None,
        records=fold_pull(ledger, pull.number, cluster=shell.cluster_name),
    )


def read_proposal(shell: Shell, rev: str, concern: str) -> ProposalFact | None:
    """The proposal of a concern as its file says at a commit; None where there is none."""
    path = proposal_file(shell.cluster_name, concern)
    try:
        data = shell.repository.read_blob(rev, path)
    except RepositoryError:
        return None
    if data is None:
        return None
    documents, _ = read_documents(data, path)
    spec = at(documents[0].value, "spec", default={}) if documents else {}
    digest, expires = at(spec, "digest", default=""), at(spec, "expiresAt", default="")
    try:
        expires_at = parse_instant(expires) if expires else 0
    except ValueError:
        return None
    return ProposalFact(concern=concern, digest=str(digest), expires_at=expires_at)


def _requests(
    shell: Shell,
    base: Base,
    ledger: Ledger,
    records: Mapping[str, RequestRecord],
    approval: Approval,
) -> list[Approved]:
    document = plan_of(ledger, approval.digest)
    if document is None or document.plan.cluster != shell.cluster_name:
        return []
    found = []
    for planned in sorted({move.request for move in document.plan.moves}):
        request = ledger_id(planned, approval.digest)
        moves = tuple(move for move in document.plan.moves if move.request == planned)
        terms = base.terms(planned, document)
        record = records.get(request)
        started = record is not None and any(move.effects for move in record.moves.values())
        if terms is None or (terms.void and started):
            kept = _terms_as_accepted(ledger, request) if started else None
            terms = _terms_as_begun(terms, kept, request)
            maintenance = _maintenance_as_begun(shell, ledger, document, request)
            terms = replace(terms, maintenance=maintenance)
        found.append(Approved(id=request, approval=approval, moves=moves, terms=terms))
    return found


def _terms_as_begun(terms: Terms | None, kept: Terms | None, request: str) -> Terms:
    """The terms of a request whose intent is gone or void; `kept` are those it began with."""
    removed = "its intent was removed" if terms is None else ""
    if kept is None:
        return Terms(void=removed or (terms.void if terms else ""))
    # as it began; but a window without schedule is open only while its file is there
    return replace(kept, void=removed if _is_open_ended(request) else "")


def plan_of(ledger: Ledger, digest: str) -> PlanDocument | None:
    """The reviewed plan of a digest; None where the ledger has none. LedgerError where torn."""
    data = ledger.plans.get(digest)
    if data is None:
        return None
    try:
        document = _read_once(data)
    except InvalidInput as error:
        raise LedgerError(f"plans/{digest}.json: {error}") from error
    if document.digest != digest:
        raise LedgerError(f"plans/{digest}.json holds the plan {document.digest}")
    return document


@lru_cache(maxsize=128)
def _read_once(data: bytes) -> PlanDocument:
    """Plans never change, and a pass asks for the same ones at every look."""
    return read_plan(data)


def _is_open_ended(request: str) -> bool:
    """Whether it is the drain of a window without schedule: its occurrence is no instant."""
    return request.startswith("drain/") and not request.endswith("Z")


def _maintenance_as_begun(
    shell: Shell, ledger: Ledger, document: PlanDocument, request: str
) -> Maintenance | None:
    """How the nodes of an occurrence are kept, as the window was when its first node began."""
    family, _, rest = request.partition("/")
    window, _, occurrence = rest.partition("/")
    if family != "drain":
        return None
    data = window_as_merged(
        ledger, cluster=shell.cluster_name, window=window, occurrence=occurrence
    )
    if not data:
        return None
    holds = [hold.vm.namespaced_name for hold in document.plan.holds if hold.request == request]
    return Maintenance(
        window=window,
        occurrence=occurrence,
        nodes=tuple(data["nodes"]),
        max_nodes_at_once=int(data["maxNodesAtOnce"]),
        cordon=bool(data["cordon"]),
        stays=frozenset(holds) if data.get("leaveRunning") else frozenset(),
        done=str(data["done"]),
        return_home=str(data["returnHome"]),
    )


def _terms_as_accepted(ledger: Ledger, request: str) -> Terms | None:
    """The terms that the ledger noted when the request's last plan was accepted."""
    for entry in reversed(ledger.entries):
        if entry.request == request and "allowed" in entry.data:
            return _terms(entry)
    return None


def _terms(entry: Entry) -> Terms:
    allowed = tuple(Interval(start=start, end=end) for start, end in entry.data["allowed"])
    return replace(
        Terms(),
        allowed=allowed,
        attempts=int(entry.data.get("attempts", 1)),
        finish=bool(entry.data.get("finish", False)),
        reason=entry.reason,
    )
