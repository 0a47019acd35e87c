"""What is approved now, read from forge, Git and ledger. In doubt, a merge approves nothing yet."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitbot.documents import read_documents
from gitbot.errors import InvalidInput, RepositoryError
from gitbot.execution.approval import MergedPull, NotApproved, ProposalFact, decide
from gitbot.execution.executor_types import Approval, Approved
from gitbot.execution.ledger_folds import BUSY, fold_concern, fold_nodes
from gitbot.execution.request_records import fold_requests
from gitbot.intents import proposal_file
from gitbot.kubernetes.objects import at
from gitbot.model.ledger.events import (
    ConcernState,
    MergeJudged,
)
from gitbot.model.ledger.ledger import Ledger, concern_of
from gitbot.model.ledger.owner_approval import missing
from gitbot.model.ledger.request_id import DrainId, RequestId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.text.instants import parse_instant
from gitbot.ports.forge import PullRequest, PullState
from gitbot.published import PlanDocument
from gitbot.workflows.approval.base_history import is_part_of, lost_commit
from gitbot.workflows.approval.judged_merges import judge_merge, refused_before
from gitbot.workflows.approval.owner_approvals import (
    CurrentClusterFacts,
    awaiting,
    consents,
    owners_at,
)
from gitbot.workflows.approval.stale_reviews import facts_if_merged_now
from gitbot.workflows.approval.started_requests import StartedRequests
from gitbot.workflows.core.base_branch import read_head
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.ledger.kept_plans import plan_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """All approvals, oldest merge first, and the merges that approved nothing.

    `judged` are the lines that the ledger lacks about them.
    """

    approved: tuple[Approved, ...]
    refused: tuple[NotApproved, ...]
    judged: tuple[MergeJudged, ...] = ()


def concern_branch(cluster: str, concern: str) -> str:
    return f"gitbot/pull/{cluster}/{concern}"


def read_approvals(shell: RunContext, base: RevisionEngine, ledger: Ledger) -> Approvals:
    approved: list[Approved] = []
    refused: list[NotApproved] = []
    judged: list[MergeJudged] = []
    records = fold_requests(ledger, shell.cluster_name)
    ended = {name: record.highest_move for name, record in records.items() if record.spent}
    begun = StartedRequests(cluster=shell.cluster_name, ledger=ledger, records=records)
    first = first_pull(ledger, shell.cluster_name)
    present = CurrentClusterFacts(shell=shell, settings=base.settings)
    pulls = shell.forge.list_pulls(state=PullState.MERGED, first=first)
    for pull in sorted(pulls, key=lambda item: (item.merged_at, item.number)):
        if pull.base_branch != shell.base_branch or not _is_relevant(shell, ledger, pull):
            continue
        decision, facts = _decide(shell, base, ledger, pull, ended)
        judged += judge_merge(shell, ledger, decision, facts)
        if facts is None and _only_cordoned(ledger, decision):
            continue  # it is settled: its nodes are back, and nothing of it begins any more
        if isinstance(decision, Approval):
            decision = _void(shell, begun, pull, decision, base.commit) or decision
        if isinstance(decision, NotApproved):
            refused.append(decision)
            continue
        requests = _requests(shell, base, begun, decision)
        document = plan_of(ledger, decision.digest)
        if facts is not None and document is not None:
            requests = awaiting(shell, present, requests, document, facts)
        approved += requests
    for approval in _auto_approved(shell, ledger):
        approved += _requests(shell, base, begun, approval)
    for item in begun.lapsed(approved, refused):
        for found in _requests(shell, base, begun, item.approval, only=item.request):
            approved.append(replace(found, terms=item.on(found.terms)))
    approved += begun.without_moves(base.intents, {item.id for item in approved})
    approved.sort(key=lambda item: item.approval.merged_at)
    return Approvals(approved=tuple(approved), refused=tuple(refused), judged=tuple(judged))


def _only_cordoned(ledger: Ledger, decision: Approval | NotApproved) -> bool:
    document = plan_of(ledger, decision.digest) if isinstance(decision, Approval) else None
    return document is not None and not document.plan.moves


def begun_approvals(shell: RunContext, base: RevisionEngine, ledger: Ledger) -> Approvals:
    """Open requests from the ledger alone, paused: for passes that cannot read the forge."""
    records = fold_requests(ledger, shell.cluster_name)
    begun = StartedRequests(cluster=shell.cluster_name, ledger=ledger, records=records)
    approved = (
        replace(found, terms=item.on(found.terms))
        for item in begun.lapsed((), ())
        for found in _requests(shell, base, begun, item.approval)
        if found.id == item.request
    )
    nodes = begun.without_moves(base.intents, ())
    return Approvals(approved=(*approved, *nodes), refused=())


def first_pull(ledger: Ledger, cluster: str) -> int:
    """The lowest pull request number in the ledger: merges of older ones approve nothing.

    1 if a number may be missing: a pass can end after it opened a pull request and before it
    recorded its number.
    """
    concerns = ledger.concerns(cluster)
    proposed = {event.file for event in concerns if event.state is ConcernState.PROPOSED}
    if not proposed <= {event.file for event in concerns if event.state is ConcernState.OPENED}:
        return 1
    told = {event.pull_request for event in ledger.with_pulls() if event.cluster == cluster}
    return min(filter(None, told), default=1)


def _void(
    shell: RunContext, begun: StartedRequests, pull: PullRequest, approval: Approval, base: str
) -> NotApproved | None:
    """Why a merge that was approved has no plan to carry out; None if it has one."""
    if not is_part_of(shell, approval.commit, base):
        return _not_part(shell, begun.ledger, pull, base)
    if approval.digest not in begun.ledger.plans:
        return _unknown_plan(approval)
    reason = _intent_changed_reason(shell, begun, approval)
    return _refused(pull, reason) if reason else None


def _decide(
    shell: RunContext,
    base: RevisionEngine,
    ledger: Ledger,
    pull: PullRequest,
    ended: Mapping[RequestId, int],
) -> tuple[Approval | NotApproved, MergedPull | None]:
    """What a merge approved, and its facts if reviews were read: only if they can still matter.

    The history of merges only grows. If all requests of a merge have ended, gitbot does not ask the
    forge again.
    """
    known = refused_before(ledger, pull, shell.cluster_name) or _edited(
        shell, ledger, pull, base.commit
    )
    if known is not None:
        return known, None
    facts = merged_pull(shell, ledger, pull)
    if _is_settled(shell, base, ledger, facts, ended):
        return decide(facts), None
    whole = shell.forge.get_pull(pull.number)
    if (whole.merge_commit, whole.merged_at) != (pull.merge_commit, pull.merged_at):
        reason = "nothing is approved: the forge's answers about the merge do not agree yet"
        return NotApproved(pull_request=pull.number, reason=reason, unsure=True), None
    reviewed = merged_pull(shell, ledger, whole).replace(
        reviews_required=shell.forge.reviews_required
    )
    decision = decide(reviewed)
    if isinstance(decision, NotApproved):
        decision = replace(decision, lacks_reviews=True)
    return decision, reviewed


def _is_settled(
    shell: RunContext,
    base: RevisionEngine,
    ledger: Ledger,
    facts: MergedPull,
    ended: Mapping[RequestId, int],
) -> bool:
    """Whether every request of every plan shown on the pull request has ended.

    `ended` has their highest moves: a proposal with higher ones still adds to its request.
    """
    shown = {facts.proposal.digest} if facts.proposal else {item.digest for item in facts.records}
    for digest in shown - {""}:
        document = plan_of(ledger, digest)
        if document is None:
            continue  # the ledger dropped it, so no merge can approve it
        for drain in _cordoning(shell, document.plan, facts.merge_commit).values():
            if drain not in ended and not _is_over(shell, base, document, ledger, drain):
                return False
        for move in document.plan.moves:
            merged = _merged_id(shell, move.request, move.intent.file, facts.merge_commit)
            last = ended.get(merged.approved(digest))
            if last is None or (facts.proposal is not None and move.id > last):
                return False
    return True


def _not_part(shell: RunContext, ledger: Ledger, pull: PullRequest, base: str) -> NotApproved:
    """Refusal of a merge that is not (or not yet) on the base branch, or has no known commit."""
    lost = f"its merge {pull.merge_commit[:12]} is no longer part of {shell.base_branch}"
    reason = f"nothing is approved: {lost}"
    if not pull.merge_commit:
        reason = "nothing is approved: the forge does not say which commit its merge is"
    unsure = not pull.merge_commit or bool(lost_commit(shell, ledger, base))
    return NotApproved(pull_request=pull.number, reason=reason, unsure=unsure)


def _edited(shell: RunContext, ledger: Ledger, pull: PullRequest, base: str) -> NotApproved | None:
    """Refusal of a proposal file that was edited or is unreadable; None if it is intact."""
    concern = _concern_of(shell, pull)
    if not concern:
        return None
    if not pull.merge_commit or shell.repository.resolve(pull.merge_commit) is None:
        return _not_part(shell, ledger, pull, base)
    unread = ""
    try:
        if is_unmodified_proposal(shell, ledger, pull.merge_commit, concern):
            return None
    except RepositoryError as error:
        unread = f"nothing is approved: the proposal file cannot be read: {error}"
    reason = unread or "nothing is approved: the proposal file is not as gitbot wrote it"
    return replace(_refused(pull, reason), unsure=bool(unread))


def _refused(pull: PullRequest, reason: str) -> NotApproved:
    head = pull.merged_head or pull.head
    return NotApproved(pull_request=pull.number, reason=reason, head=head, merged_at=pull.merged_at)


def is_unmodified_proposal(shell: RunContext, ledger: Ledger, rev: str, concern: str) -> bool:
    """Whether gitbot wrote the concern's proposal file at a commit; True if there is no file.

    Raises RepositoryError if Git cannot read it.
    """
    data = shell.repository.read_blob(rev, proposal_file(shell.cluster_name, concern))
    record = fold_concern(ledger, cluster=shell.cluster_name, concern=concern)
    return data is None or file_digest(data) in record.files


def file_digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _unknown_plan(approval: Approval) -> NotApproved:
    """Refusal of a proposal file whose digest gitbot never showed: a person wrote it by hand."""
    return NotApproved(
        pull_request=approval.pull_request,
        reason=f"nothing is approved: the ledger knows no plan {approval.digest[:19] or '(none)'}",
        head=approval.head,
        merged_at=approval.merged_at,
    )


def _intent_changed_reason(shell: RunContext, begun: StartedRequests, approval: Approval) -> str:
    """Why a merge does not approve the plan shown: an intent of the plan changed before the merge.

    Plans that the ledger has accepted are not judged again: their terms handle later edits.
    """
    document = plan_of(begun.ledger, approval.digest)
    if document is None or begun.accepted(approval):
        return ""
    try:
        merged = shell.read_base(approval.commit).intents
    except InvalidInput:
        return f"nothing is approved: {shell.base_branch} had errors at the merge"
    for name, reviewed in sorted(document.plan.intents.items()):
        found = merged.by_id(name)
        if found is None or found.spec_digest != reviewed:
            what = "removed" if found is None else "edited"
            return f"nothing is approved: {name} was {what} between what was shown and the merge"
    return ""


def _auto_approved(shell: RunContext, ledger: Ledger) -> list[Approval]:
    """Plans that gitbot approved itself, within policy."""
    return [
        Approval(
            digest=event.digest,
            pull_request=0,
            commit=event.commit,
            author=shell.forge.bot,
            merger="policy",
            merged_at=event.time,
            concern=concern_of(event),
        )
        for event in ledger.concerns(shell.cluster_name)
        if event.state is ConcernState.AUTO
    ]


def _is_relevant(shell: RunContext, ledger: Ledger, pull: PullRequest) -> bool:
    concern = _concern_of(shell, pull)
    if concern:
        return concern != "tidy"
    return bool(ledger.shown(pull.number, cluster=shell.cluster_name))


def _concern_of(shell: RunContext, pull: PullRequest) -> str:
    prefix = concern_branch(shell.cluster_name, "")
    own = pull.author == shell.forge.bot and pull.branch.startswith(prefix)
    return pull.branch.removeprefix(prefix) if own else ""


def merged_pull(shell: RunContext, ledger: Ledger, pull: PullRequest) -> MergedPull:
    """The facts about one merged pull request, except the number of required reviews."""
    concern = _concern_of(shell, pull)
    return MergedPull(
        number=pull.number,
        author=pull.author,
        head=pull.merged_head or pull.head,
        merge_commit=pull.merge_commit,
        merged_by=pull.merged_by,
        merged_at=pull.merged_at,
        reviews=pull.reviews,
        proposal=read_proposal(shell, ledger, pull.merge_commit, concern) if concern else None,
        records=ledger.shown(pull.number, cluster=shell.cluster_name),
    )


def read_proposal(shell: RunContext, ledger: Ledger, rev: str, concern: str) -> ProposalFact | None:
    """The proposal of a concern in its file at a commit; None if there is no file."""
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
        expires_at = parse_instant(str(expires)) if expires else 0
    except ValueError:
        return None
    record = fold_concern(ledger, cluster=shell.cluster_name, concern=concern)
    base = record.files.get(file_digest(data), "")
    return ProposalFact(concern=concern, digest=str(digest), expires_at=expires_at, base=base)


def waits_for(shell: RunContext, pull: PullRequest) -> str:
    """Whose approval the plan lacks that a pull request shows, in words; "" for nobody's.

    A merge of it starts nothing before.
    """
    ledger = shell.ledger_store.read()
    newest = shell.repository.commit(shell.base_branch).id
    facts = facts_if_merged_now(pull, ledger.shown(pull.number, cluster=shell.cluster_name))
    shell.repository.fetch_commit(pull.head)
    concern = _concern_of(shell, pull)
    fact = read_proposal(shell, ledger, pull.head, concern) if concern else None
    last = facts.records[-1] if facts.records else None
    digest = fact.digest if fact else last.digest if last and last.head == pull.head else ""
    document = plan_of(ledger, digest) if digest else None
    if document is None:
        return ""
    base = shell.read_base(newest if fact or last is None else last.shown.base or newest)
    owners = owners_at(shell, base.commit, CurrentClusterFacts(shell=shell, settings=base.settings))
    if owners is None or not owners.asks:
        return ""
    intents = base.intents if fact else read_head(shell, pull.head, base.revision).intents
    return missing(consents(shell, owners, document, intents, facts.replace(proposal=fact)))


def _requests(
    shell: RunContext,
    base: RevisionEngine,
    begun: StartedRequests,
    approval: Approval,
    *,
    only: RequestId | None = None,
) -> list[Approved]:
    """Requests of an approved plan on current terms; if it lapsed, on those they started with."""
    document = plan_of(begun.ledger, approval.digest)
    if document is None or document.plan.cluster != shell.cluster_name:
        return []
    plan, commit = document.plan, approval.commit
    ids: dict[RequestId, RequestId] = {
        move.request: _merged_id(shell, move.request, move.intent.file, commit)
        for move in plan.moves
    }
    ids |= _cordoning(shell, plan, commit)
    names = {planned: merged for planned, merged in ids.items() if planned != merged}
    document = replace(document, plan=document.plan.renamed(names))
    found = []
    for planned in sorted(set(ids.values())):
        request = planned.approved(approval.digest)
        if only and request != only:
            continue
        moves = tuple(move for move in document.plan.moves if move.request == planned)
        terms = base.terms(planned, document, now=shell.clock.now())
        started = begun.started(request)
        if terms is None or only or (terms.void and started):
            terms = begun.terms(request, document, terms, started=started)
        found.append(
            Approved(id=request, approval=approval, moves=moves, terms=terms, plan=document.plan)
        )
    return found


def _merged_id(shell: RunContext, planned: RequestId, file: str, commit: str) -> RequestId:
    """The id of a planned request after a merge. That of a window is the commit of its file."""
    repository = shell.repository
    named = not commit or planned.merged(commit) == planned  # most are: they ask Git nothing
    if named or repository.resolve(commit) is None:
        return planned
    return planned.merged(repository.introduced_by(commit, file) or commit)


def _cordoning(shell: RunContext, plan: PlacementPlan, commit: str) -> dict[RequestId, RequestId]:
    """The drains of a plan that move nothing and cordon, with their ids after a merge."""
    return {
        drain.request: _merged_id(shell, drain.request, drain.file, commit)
        for drain in plan.drains
        if drain.only_cordoned
    }


def _is_over(
    shell: RunContext,
    base: RevisionEngine,
    document: PlanDocument,
    ledger: Ledger,
    drain: RequestId,
) -> bool:
    """Whether a drain without moves begins nothing any more, and its nodes are back."""
    if not isinstance(drain, DrainId):
        return True
    nodes = fold_nodes(ledger, cluster=shell.cluster_name, occurrence=drain.occurrence)
    if any(node.state in BUSY or node.cordoned_by_gitbot for node in nodes.values()):
        return False
    now = shell.clock.now()
    terms = base.terms(drain, document, now=now)
    if terms is None or terms.maintenance is None:
        return True
    left = set(terms.maintenance.nodes) - nodes.keys()
    return not left or all(span.end <= now for span in terms.allowed)
