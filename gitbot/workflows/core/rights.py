"""What the account that applies may not do of a plan: said at review, not during the maintenance.

`reconcile` publishes what its own account may do beside the snapshot. Jobs without an account of
their own read that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gitbot.errors import ClusterError
from gitbot.intents import MaintenanceWindowSpec
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import DrainId, RequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.text.names import IntentRef
from gitbot.model.text.wording import counted
from gitbot.published import PublishedRights, RightsAnswer, read_rights, sorted_bytes
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.judged_plan import CheckResult, JudgedPlan, with_findings
from gitbot.workflows.core.revision import Revision

RBAC = "deploy/rbac"
Missing = Callable[[str, str], tuple[str, ...]]
"""As `Cluster.missing`."""


def rights_file(shell: RunContext, snapshot: ClusterSnapshot) -> bytes | None:
    """What this process's account lacks to move the VMs of a snapshot; None without an answer."""
    spaces = sorted({name_of(item).namespace for item in snapshot.of("VirtualMachineInstance")})
    try:
        asked = [("nodes", ""), ("move", "")]
        found = {pair: shell.cluster.missing(*pair) for pair in asked}
        if found["move", ""]:  # RoleBindings may give it
            found |= {("move", space): shell.cluster.missing("move", space) for space in spaces}
    except ClusterError:
        return None
    answers = [
        RightsAnswer(group=group, namespace=space, missing=missing)
        for (group, space), missing in found.items()
    ]
    return sorted_bytes(PublishedRights(answers=answers))


def published_missing(data: bytes | None) -> Missing:
    """The answers of `rights_file`. Any account that may push can have written them."""

    def missing(group: str, namespace: str) -> tuple[str, ...]:
        if (group, namespace) not in known:
            raise ClusterError("gitbot reconcile has not published what its account may do")
        return known[group, namespace]

    known = read_rights(data or b"")
    return missing


def asked_once(missing: Missing) -> Missing:
    """The same for one pass: the cluster is asked once, however many plans want the answer."""
    known: dict[tuple[str, str], tuple[str, ...] | ClusterError] = {}

    def ask(group: str, namespace: str) -> tuple[str, ...]:
        pair = (group, namespace)
        if pair not in known:
            try:
                known[pair] = missing(group, namespace)
            except ClusterError as error:
                known[pair] = error
        answer = known[pair]
        if isinstance(answer, ClusterError):
            raise answer
        return answer

    return ask


def rights_checked(result: CheckResult, missing: Missing, *, own: bool) -> CheckResult:
    """A result, with what the account may not do of its plan and its previews.

    `own`: it is the account that applies. Any other one may lack rights on purpose.
    """
    if result.judged is None or result.revision is None:
        return result
    plans = [result.judged.plan, *(item.plan for item in result.previews)]
    found = rights_findings(result.revision, plans, missing, own=own)
    judged = with_findings(result.judged, result.revision, found)
    return replace(result, findings=(*result.findings, *found), judged=judged)


def rights_judged(missing: Missing, revision: Revision, judged: JudgedPlan) -> JudgedPlan:
    """The same for a plan of this process, which has the account that applies."""
    found = rights_findings(revision, [judged.plan], missing, own=True)
    return with_findings(judged, revision, found)


def rights_findings(
    revision: Revision, plans: Sequence[PlacementPlan], missing: Missing, *, own: bool
) -> tuple[Finding, ...]:
    if all(plan.does_nothing for plan in plans) or not revision.settings.applies:
        return ()
    try:
        moves = tuple(move for plan in plans for move in plan.moves)
        drains = {move.request for move in moves}
        drains |= {each.request for plan in plans for each in plan.drains if each.only_cordoned}
        found = [*_of_moves(moves, missing), *_of_cordons(revision, drains, missing)]
        return tuple(_finding(each, own=own) for each in found)
    except ClusterError as error:
        return (
            Finding(
                code="check/rights-unknown",
                severity=Severity.NOTE,
                message=f"whether apply may do this is not known: {error.message}",
                hint="gitbot doctor says it, with the account of apply",
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lack:
    """Rights that an account lacks, what follows from that, who grants them, and for which file."""

    rights: tuple[str, ...]
    then: str
    hint: str
    intent: IntentRef


def _of_moves(moves: tuple[Move, ...], missing: Missing) -> Iterator[_Lack]:
    if not missing("move", ""):
        return
    spaces: dict[str, list[Move]] = {}
    for move in moves:
        spaces.setdefault(move.vm.namespace, []).append(move)
    for space, found in sorted(spaces.items()):
        if lacking := missing("move", space):
            yield _Lack(
                rights=lacking,
                then=f"{counted(len(found), 'move')} would wait",
                hint=f"bind ClusterRole gitbot-mover there ({RBAC}/30-mover.yaml)",
                intent=found[0].intent,
            )


def _of_cordons(
    revision: Revision, requests: Iterable[RequestId], missing: Missing
) -> Iterator[_Lack]:
    drained = {item.occurrence.window for item in requests if isinstance(item, DrainId)}
    for intent in revision.intents.intents:
        spec = intent.spec
        if not isinstance(spec, MaintenanceWindowSpec) or spec.drain.cordon != "Gitbot":
            continue
        if intent.ref.name in drained and (lacking := missing("nodes", "")):
            yield _Lack(
                rights=lacking,
                then=f"window {intent.ref.name} could not cordon its nodes, "
                "and its moves would wait",
                hint=f"kubectl apply -k {RBAC}/optional-cordon, or cordon: External",
                intent=intent.ref,
            )


def _finding(lack: _Lack, *, own: bool) -> Finding:
    account = "" if own else "with the account in use, "
    return Finding(
        code="check/right-missing",
        severity=Severity.WARNING if own else Severity.NOTE,
        message=f"{account}apply may not {', '.join(lack.rights)}, so {lack.then}",
        file=lack.intent.file,
        line=lack.intent.line,
        hint=lack.hint,
    )
