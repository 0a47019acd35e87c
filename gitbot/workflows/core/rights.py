"""What the account that applies may not do of a plan: said at review, not during the maintenance.

`reconcile` publishes the answers of its own account beside the snapshot, for jobs without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gitbot.errors import ClusterError
from gitbot.intents import MaintenanceWindowSpec
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import DrainId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move
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
    moves = [move for item in result.previews for move in item.plan.moves]
    found = rights_findings(result.revision, (*result.judged.plan.moves, *moves), missing, own=own)
    judged = with_findings(result.judged, result.revision, found)
    return replace(result, findings=(*result.findings, *found), judged=judged)


def rights_judged(missing: Missing, revision: Revision, judged: JudgedPlan) -> JudgedPlan:
    """The same for a plan of this process, which has the account that applies."""
    found = rights_findings(revision, judged.plan.moves, missing, own=True)
    return with_findings(judged, revision, found)


def rights_findings(
    revision: Revision, moves: tuple[Move, ...], missing: Missing, *, own: bool
) -> tuple[Finding, ...]:
    if not moves or not revision.settings.applies:
        return ()
    try:
        found = [*_of_moves(moves, missing), *_of_cordons(revision, moves, missing)]
    except ClusterError as error:
        return (
            Finding(
                code="check/rights-unknown",
                severity=Severity.NOTE,
                message=f"whether apply may do this is not known: {error.message}",
                hint="gitbot doctor says it, with the account of apply",
            ),
        )
    if own:
        return tuple(found)
    return tuple(_of_another_account(finding) for finding in found)


def _of_moves(moves: tuple[Move, ...], missing: Missing) -> Iterator[Finding]:
    if not missing("move", ""):
        return
    spaces: dict[str, list[Move]] = {}
    for move in moves:
        spaces.setdefault(move.vm.namespace, []).append(move)
    for space, found in sorted(spaces.items()):
        if lacking := missing("move", space):
            yield _warning(
                f"apply may not {', '.join(lacking)}, so {counted(len(found), 'move')} would wait",
                f"bind ClusterRole gitbot-mover there ({RBAC}/30-mover.yaml)",
                (found[0].intent.file, found[0].intent.line),
            )


def _of_cordons(revision: Revision, moves: tuple[Move, ...], missing: Missing) -> Iterator[Finding]:
    drained = {
        move.request.occurrence.window for move in moves if isinstance(move.request, DrainId)
    }
    for intent in revision.intents.intents:
        spec = intent.spec
        if not isinstance(spec, MaintenanceWindowSpec) or spec.drain.cordon != "Gitbot":
            continue
        if intent.ref.name in drained and (lacking := missing("nodes", "")):
            yield _warning(
                f"apply may not {', '.join(lacking)}, so window {intent.ref.name} could not cordon "
                "its nodes, and its moves would wait",
                f"kubectl apply -k {RBAC}/optional-cordon, or cordon: External",
                (intent.ref.file, intent.ref.line),
            )


def _warning(message: str, hint: str, place: tuple[str, int]) -> Finding:
    return Finding(
        code="check/right-missing",
        severity=Severity.WARNING,
        message=message,
        file=place[0],
        line=place[1],
        hint=hint,
    )


def _of_another_account(finding: Finding) -> Finding:
    return replace(
        finding,
        severity=Severity.NOTE,
        message=finding.message.replace("apply may", "with the account in use, apply may", 1),
    )
