"""Record: what was shown on a pull request, in the ledger. A merge approves what stands there.

Times of records are the forge's, as those of reviews and merges are: which came first must not
hang on two clocks.
"""

from __future__ import annotations

import hashlib

from gitbot.execution.state import PullRecord
from gitbot.model.findings import Severity
from gitbot.model.instants import format_instant
from gitbot.model.ledger import Entry, pull_file
from gitbot.ports.forge import PullRequest
from gitbot.workflows.check import CheckResult
from gitbot.workflows.journal import Journal
from gitbot.workflows.shell import Shell

NOT_FETCHED = "check/not-fetched"
AGAIN = 3600  # seconds for which a head that could not be fetched is left alone
RENEW = 4  # a record is renewed when less than this share (1/4) of its life is left


def is_not_fetched(outcome: CheckResult) -> bool:
    """Whether nothing could be said because the head could not be had."""
    return any(finding.code == NOT_FETCHED for finding in outcome.findings)


def record_of(shell: Shell, pull: PullRequest, outcome: CheckResult, *, base: str) -> PullRecord:
    """What showing an outcome now is recorded as. Without a digest it approves nothing."""
    review, now = outcome.review, shell.clock.now()
    approves = review is not None and not any(
        finding.severity is Severity.ERROR for finding in outcome.findings
    )
    expires_at = now + (AGAIN if is_not_fetched(outcome) else 0)
    document = ""
    if review is not None and approves:
        document = "sha256:" + hashlib.sha256(review.file).hexdigest()
    return PullRecord(
        head=pull.head,
        base=base,
        digest=review.digest if review is not None and approves else "",
        expires_at=expires_at if review is None else review.expires_at,
        time=now + shell.forge.clock_skew,
        document=document,
    )


def stands(records: tuple[PullRecord, ...], record: PullRecord) -> bool:
    """Whether the last record says the same and lives long enough."""
    if not records:
        return False
    last = records[-1]
    same = (last.head, last.base, last.digest) == (record.head, record.base, record.digest)
    return same and not is_due(last, record.time)


def replaces(last: PullRecord, record: PullRecord) -> bool:
    """Whether a plan stands on this head and another one is about to be shown."""
    plans = bool(last.digest and record.digest)
    return plans and last.head == record.head and last.digest != record.digest


def is_due(record: PullRecord, now: int) -> bool:
    """Whether less than a quarter is left of a record's life; what says no plan may have none."""
    life = record.expires_at - record.time
    return bool(record.digest or life > 0) and (record.expires_at - now) * RENEW < life


def write_pause(shell: Shell, journal: Journal, pull: PullRequest, last: PullRecord) -> None:
    """Take the plan back that stands, before another one is shown in its place.

    Who approves until the new one is shown and recorded approves neither. The base is left out, so
    a run that ends here leaves a pull request that is planned again.
    """
    now = shell.clock.now()
    pause = PullRecord(
        head=last.head, base="", digest="", expires_at=now, time=now + shell.forge.clock_skew
    )
    journal.commit((_entry(shell, pull, pause),))


def write_record(
    shell: Shell, journal: Journal, pull: PullRequest, outcome: CheckResult, record: PullRecord
) -> None:
    """Record what is shown, and the plan with it."""
    review = outcome.review
    plans = {record.digest: review.file} if review is not None and record.digest else {}
    journal.commit((_entry(shell, pull, record),), plans)


def _entry(shell: Shell, pull: PullRequest, record: PullRecord) -> Entry:
    data: dict[str, object] = {
        "head": record.head,
        "base": record.base,
        "expiresAt": format_instant(record.expires_at),
    }
    if record.document:
        data["document"] = record.document
    return Entry(
        file=pull_file(pull.number),
        time=record.time,
        cluster=shell.cluster_name,
        state="shown",
        author=pull.author,
        pull_request=pull.number,
        digest=record.digest,
        data=data,
    )
