"""Owner approvals of a plan, given or missing; the protected base branch names the owners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gitbot.errors import ClusterError
from gitbot.execution.approval import MergedPull, ProposalFact, consenting, judge
from gitbot.execution.executor_types import Approval, Approved
from gitbot.intents import CODEOWNERS, IntentSet, OwnershipRules, needs_of, read_intents
from gitbot.kubernetes.objects import labels_of, name_of
from gitbot.model.ledger.events import PlanShown
from gitbot.model.ledger.owner_approval import OwnerApproval, missing
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.ports.forge import PullRequest
from gitbot.published import PlanDocument, read_plan
from gitbot.settings import Settings, not_at_hand, read_settings
from gitbot.workflows.approval.stale_reviews import facts_if_merged_now
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.judged_plan import JudgedPlan
from gitbot.workflows.core.revision_engine import RevisionEngine, drained_nodes


@dataclass(slots=True, kw_only=True)
class CurrentClusterFacts:
    """The newest settings, and labels of nodes, which are read at most once and only if needed."""

    shell: RunContext
    settings: Settings
    _known: dict[str, Mapping[str, str]] | None = field(default=None)

    def labels(self, node: str) -> Mapping[str, str]:
        if self._known is None:
            nodes = self.shell.cluster.snapshot().of("Node")
            self._known = {name_of(item).name: labels_of(item) for item in nodes}
        return self._known.get(node, {})


def owners_at(
    shell: RunContext, commit: str, present: CurrentClusterFacts
) -> OwnershipRules | None:
    """Who owns what at a commit of the base branch; None if its configuration has errors.

    For a commit without a configuration file, the newest settings count.
    """
    data = shell.repository.read_blob(commit, CONFIGURATION_FILE)
    settings = present.settings if data is None else _read(data)
    if settings is None:
        return None
    if not settings.owners:
        return OwnershipRules(settings=settings)
    grammar = shell.forge.capabilities.codeowners
    places = CODEOWNERS[grammar].places
    texts = (shell.repository.read_blob(commit, path) for path in places)
    found = next((text for text in texts if text is not None), b"")
    text = found.decode("utf-8", "replace")
    return OwnershipRules(
        settings=settings, codeowners=text, grammar=grammar, labels=present.labels
    )


@lru_cache(maxsize=16)
def _read(data: bytes) -> Settings | None:
    return read_settings(data, CONFIGURATION_FILE, not_at_hand)[0]  # owners are in no other file


def consents(
    shell: RunContext,
    owners: OwnershipRules,
    document: PlanDocument,
    intents: IntentSet,
    facts: MergedPull,
) -> tuple[OwnerApproval, ...]:
    """Every owner approval that a plan needs for its requests, given or not, sorted."""
    moves = document.plan.moves
    cordoned = {drain.request for drain in document.plan.drains if drain.only_cordoned}
    needs = {
        need
        for request in {*(move.request for move in moves), *cordoned}
        for need in needs_of(
            owners, intents, request, moves, drained=drained_nodes(document, request)
        )
    }
    if not needs:
        return ()
    forge = shell.forge
    author_consents = (
        facts.author != forge.bot
        and forge.can_write(facts.author)
        and forge.has_pushed(facts.author, facts.head)  # not what others pushed to the branch since
    )
    accounts = consenting(facts, document.digest, bot=forge.bot, author_consents=author_consents)
    return judge(sorted(needs), accounts, members=forge.team_members, bot=forge.bot)


def consented(
    shell: RunContext,
    judged: JudgedPlan,
    pull: PullRequest | None,
    *,
    base: RevisionEngine,
    intents: IntentSet,
    records: tuple[PlanShown, ...] = (),
    proposal: ProposalFact | None = None,
) -> JudgedPlan:
    """The plan of an open pull request with its owner approvals; the base branch names the owners.

    `records` are the plans shown on it; `proposal` is the file of gitbot's own pull request. A
    merge group (`pull` is None) needs no approval of its own: its pull requests do.
    """
    owners = owners_at(shell, base.commit, CurrentClusterFacts(shell=shell, settings=base.settings))
    if owners is None or not owners.asks:
        return judged
    if pull is None:
        return replace(judged, diff=replace(judged.diff, consents=()))
    facts = facts_if_merged_now(pull, records).replace(proposal=proposal)
    found = consents(shell, owners, read_plan(judged.file), intents, facts)
    return replace(judged, diff=replace(judged.diff, consents=found))


def awaiting(
    shell: RunContext,
    present: CurrentClusterFacts,
    requests: Iterable[Approved],
    document: PlanDocument,
    facts: MergedPull,
) -> list[Approved]:
    """Requests of a merged plan; `consent` of their terms lists owners who have not approved.

    Owners are taken from the base branch as it was when the plan was shown: a pull request must not
    choose the owners who approve it.
    """
    return [_judged(shell, present, item, document, facts) for item in requests]


def _judged(
    shell: RunContext,
    present: CurrentClusterFacts,
    item: Approved,
    document: PlanDocument,
    facts: MergedPull,
) -> Approved:
    asked: list[OwnershipRules] = []
    for commit in _bases_of(shell, item.approval, facts):
        owners = owners_at(shell, commit, present)
        if owners is None:
            why = f"its owners are unknown: {CONFIGURATION_FILE} has errors at {commit[:12]}"
            return replace(item, terms=item.terms.replace(consent=why))
        asked += [owners] if owners.asks else []
    if not asked:
        return item
    asked_by = {item.id, *(move.request for move in item.moves)}
    drains = tuple(drain for drain in document.plan.drains if drain.request in asked_by)
    only = replace(document, plan=replace(document.plan, moves=item.moves, drains=drains))
    try:
        found = {
            consent: None
            for owners in asked
            for consent in consents(shell, owners, only, _intents(shell, owners, item), facts)
        }
    except ClusterError as error:
        why = f"the owners of its nodes are unknown: {error}"
        return replace(item, terms=item.terms.replace(consent=why))
    given = {name for consent in found for name in consent.by if name != facts.author}
    approvers = tuple(sorted({*item.approval.approvers, *given}))
    return replace(
        item,
        approval=replace(item.approval, approvers=approvers),
        terms=item.terms.replace(consent=missing(tuple(found))),
    )


def _bases_of(shell: RunContext, approval: Approval, facts: MergedPull) -> tuple[str, ...]:
    """The commits of the base branch whose owners must approve: all are from before the merge.

    The base of the plan shown. For a proposal, the parent of the merge and the base of its plan: a
    rebase puts every commit of the branch on the base, and one of them may change the owners.
    """
    shown = [
        record.shown.base
        for record in facts.records
        if record.head == facts.head and record.digest == approval.digest and record.shown.base
    ]
    if facts.proposal is None and shown:
        return (shown[-1],)
    parent = next(iter(shell.repository.commit(approval.commit).parents), approval.commit)
    planned = facts.proposal.base if facts.proposal else ""
    return tuple(dict.fromkeys(filter(None, (planned, parent))))


def _intents(shell: RunContext, owners: OwnershipRules, item: Approved) -> IntentSet:
    """The requests as merged. Reads only their files, unless an intent has moved to another."""
    commit = item.approval.commit
    wanted = {move.intent for move in item.moves if isinstance(move.request, MigrationRequestId)}
    if not wanted:
        return IntentSet(cluster=shell.cluster_name)
    blobs = {ref.file: shell.repository.read_blob(commit, ref.file) for ref in wanted if ref.file}
    files = {path: data for path, data in blobs.items() if data is not None}
    found, _ = read_intents(files, owners.settings, shell.cluster_name)
    if all(found.by_id(ref.id) is not None for ref in wanted):
        return found
    return shell.read_base(commit).intents
