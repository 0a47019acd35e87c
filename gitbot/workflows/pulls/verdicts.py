"""The checks `gitbot/plan` and `gitbot/policy` on a pull request, with their evidence."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.model.ledger.owner_approval import OwnerApproval, missing
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.text.wording import shortened
from gitbot.ports.forge import Annotation, AnnotationLevel, CheckRun, CheckState, CommitStatus
from gitbot.reports import detail, escape, refusal, summary
from gitbot.workflows.core.context import RunContext, status_name
from gitbot.workflows.core.judged_plan import CheckResult
from gitbot.workflows.pulls.statuses import GIVEN, OWNERS

PLAN = "gitbot/plan"
POLICY = "gitbot/policy"
_LEVELS = {
    Severity.ERROR: AnnotationLevel.FAILURE,
    Severity.WARNING: AnnotationLevel.WARNING,
    Severity.NOTE: AnnotationLevel.NOTICE,
}


def checks_of(
    shell: RunContext, outcome: CheckResult, *, notice: str = "", failing: bool | None = None
) -> tuple[CheckRun, ...]:
    """The checks with the verdict; `notice` goes before the counts.

    `failing` decides whether the plan fails its check; None: as `gitbot check` would. Then it is
    pending while a requested move waits, so that no merge leaves that move out.
    """
    judged = outcome.judged
    if judged is None:
        return (_refused(shell, outcome, notice),)
    fails = outcome.fails() if failing is None else failing
    waits = failing is None and outcome.waits
    passes = CheckState.PENDING if waits else CheckState.SUCCESS
    denied = judged.verdict.findings
    plan_id = _plan_id(judged.digest)
    counts = judged.diff.counts
    if waits and not fails:
        counts = f"{judged.diff.verdict}: {counts}"
    words = f"{notice}: {counts}" if notice else counts
    plan = CheckRun(
        name=status_name(shell, PLAN),
        state=CheckState.FAILURE if fails else passes,
        title=_title(shell, words, plan_id),
        summary=summary(judged.diff, notice=notice),
        text=detail(judged.diff, limit=shell.forge.capabilities.text_bytes),
        annotations=placed(item for item in outcome.all_findings if item not in denied),
    )
    consents = judged.diff.consents
    owners = () if consents is None else (_owners(shell, consents),)
    return (plan, _policy(shell, denied, plan_id), *owners)


def status_shows(status: CommitStatus, digest: str) -> bool:
    """Whether a status of the plan is that of this digest, or of none: then it fails."""
    if not digest:
        return status.state is CheckState.FAILURE
    return status.description.endswith(_plan_id(digest))


def _plan_id(digest: str) -> str:
    return f" (plan {digest.removeprefix('sha256:')[:12]})"


def _policy(shell: RunContext, found: tuple[Finding, ...], plan_id: str) -> CheckRun:
    errors = [item for item in found if item.severity is Severity.ERROR]
    lines = [
        f"- {item.severity}: {escape.markdown(str(item))}" for item in sorted(found, key=sort_key)
    ]
    return CheckRun(
        name=status_name(shell, POLICY),
        state=CheckState.FAILURE if errors else CheckState.SUCCESS,
        title=_title(shell, "denied" if errors else "allowed", plan_id),
        summary="\n".join(lines) or "No policy objects.",
        annotations=placed(found),
    )


def _owners(shell: RunContext, consents: tuple[OwnerApproval, ...]) -> CheckRun:
    """Pending while an owner's approval is missing: it waits for people, as for a window."""
    waits = missing(consents)
    given = GIVEN if consents else "no owner's approval is needed"
    return CheckRun(
        name=status_name(shell, OWNERS),
        state=CheckState.PENDING if waits else CheckState.SUCCESS,
        title=_title(shell, waits or given),
        summary="\n".join(f"- {escape.markdown(consent.line)}" for consent in consents) or given,
    )


def _refused(shell: RunContext, outcome: CheckResult, notice: str) -> CheckRun:
    words = outcome.findings[0].message if outcome.findings else "nothing was planned"
    return CheckRun(
        name=status_name(shell, PLAN),
        state=CheckState.FAILURE,
        title=_title(shell, f"{notice}: {words}" if notice else words),
        summary=refusal(
            shell.cluster_name, outcome.findings, limit=shell.forge.capabilities.text_bytes
        ),
        annotations=placed(outcome.findings),
    )


def placed(findings: Iterable[Finding]) -> tuple[Annotation, ...]:
    """The findings that have a place in the repository, in order of place."""
    found = sorted({item for item in findings if item.file}, key=sort_key)
    return tuple(
        Annotation(
            path=item.file,
            line=max(1, item.line),
            level=_LEVELS[item.severity],
            message=escape.lines(f"{item.message}; {item.hint}" if item.hint else item.message),
            title=item.code,
        )
        for item in found
    )


def _title(shell: RunContext, text: str, end: str = "") -> str:
    """One line. `end` identifies the plan, so that an equal line means an equal plan."""
    return (
        shortened(escape.plain(text), shell.forge.capabilities.status_characters - len(end)) + end
    )
