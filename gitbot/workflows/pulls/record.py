"""Records in the ledger what was shown on a pull request. A merge approves what it has.

Times of records are the forge's, as those of reviews and merges: two clocks must not decide which
came first.
"""

from __future__ import annotations

import hashlib

from gitbot.model.ledger.events import PlanShown, Shown
from gitbot.model.ledger.ledger import pull_file
from gitbot.model.plan.findings import Severity
from gitbot.model.text.instants import format_instant
from gitbot.ports.forge import PullRequest
from gitbot.ports.idempotence import is_up_to_date, needs_renewal
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.judged_plan import CheckResult
from gitbot.workflows.ledger.writer import Journal

NOT_FETCHED = "check/not-fetched"
AGAIN = 3600  # seconds before a head that could not be fetched is tried again


def is_not_fetched(outcome: CheckResult) -> bool:
    return any(finding.code == NOT_FETCHED for finding in outcome.findings)


def record_of(
    shell: RunContext, pull: PullRequest, outcome: CheckResult, *, base: str
) -> PlanShown:
    """The record of showing an outcome now. Without a digest it approves nothing."""
    judged = outcome.judged
    approves = judged is not None and not any(
        finding.severity is Severity.ERROR for finding in outcome.findings
    )
    expires_at = shell.clock.now() + (AGAIN if is_not_fetched(outcome) else 0)
    digest, document = "", ""
    if judged is not None and approves:
        digest = judged.digest
        document = "sha256:" + hashlib.sha256(judged.file).hexdigest()
    shown = Shown(
        head=pull.head,
        base=base,
        expires_at=format_instant(expires_at if judged is None else judged.expires_at),
        document=document,
    )
    return _shown(shell, pull, shown, digest=digest)


def is_recorded(records: tuple[PlanShown, ...], record: PlanShown) -> bool:
    """Whether the last record has the same content and lives long enough."""
    last = records[-1] if records else None
    return is_up_to_date(last, record) and not (last and is_due(last, record.time))


def is_new_plan(last: PlanShown, record: PlanShown) -> bool:
    """Whether another plan is about to replace what was shown last, on this head or another.

    The comment may still show an older plan, even if the last record has none.
    """
    return bool(record.digest) and (last.head, last.digest) != (record.head, record.digest)


def is_due(record: PlanShown, now: int) -> bool:
    """Whether less than a quarter of a record's life is left; one without a plan may have none."""
    life = record.expires_at - record.time
    return bool(record.digest or life > 0) and needs_renewal(
        left=record.expires_at - now, life=life
    )


def withdraw_shown_plan(
    shell: RunContext, journal: Journal, pull: PullRequest, last: PlanShown
) -> None:
    """Withdraw the shown plan before another one replaces it.

    An approval in between approves neither. The base is left out, so if a run ends here, the next
    one plans the pull request again.
    """
    pause = Shown(head=last.head, base="", expires_at=format_instant(shell.clock.now()))
    journal.commit((_shown(shell, pull, pause),))


def write_record(journal: Journal, outcome: CheckResult, record: PlanShown) -> None:
    judged = outcome.judged
    plans = {record.digest: judged.file} if judged is not None and record.digest else {}
    journal.commit((record,), plans)


def _shown(shell: RunContext, pull: PullRequest, shown: Shown, *, digest: str = "") -> PlanShown:
    return PlanShown(
        file=pull_file(pull.number),
        time=shell.clock.now() + shell.forge.clock_skew,
        cluster=shell.cluster_name,
        author=pull.author,
        pull_request=pull.number,
        digest=digest,
        shown=shown,
    )
