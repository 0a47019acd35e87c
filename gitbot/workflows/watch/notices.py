"""Notices: what a person must do or has lost, told to webhooks after a pass.

Each is told once, at least: a branch of the cluster has the last line of the ledger, and what has
no line, that each webhook took. Nothing decides by it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import islice

from gitbot.calendar import clock_time, local_text, resolve
from gitbot.errors import GitbotError, NoticeError
from gitbot.execution.approval import NotApproved
from gitbot.ports.notices import Notifier
from gitbot.published import PublishedNotice, sorted_bytes
from gitbot.reports.own_templates import NOTICE
from gitbot.settings import NoticeSettings, Settings
from gitbot.workflows.ask import WindowOutlook
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.own_wording import own_wording
from gitbot.workflows.watch.notice_texts import (
    Notice,
    daily_notice,
    ledger_notices,
    notice_document,
    notice_in_words,
    notice_values,
    standing_notices,
    weekly_notice,
)

MOST = 20  # notices of one pass to one webhook; the next pass sends the rest
FILE = "told.json"


FAR = 1000  # lines that a webhook did not want; no pass reads those of years again


@dataclass(slots=True, kw_only=True)
class _Told:
    """What one webhook took: lines of the ledger up to these, and ids of what stands.

    `daily_line` is None if it gets no daily notice, `standing` as long as no pass knew what stands.
    """

    line: int
    daily_line: int | None = None
    standing: list[str] | None = None

    def took(self, notice: Notice, line: int) -> None:
        """Note a notice of that line, 0 for what stands."""
        if line:
            self.line = line
        else:
            self.standing = sorted({*(self.standing or ()), notice.id})


def notices_branch(cluster: str) -> str:
    return f"gitbot/notices/{cluster}"


def send_notices(
    shell: RunContext,
    windows: WindowOutlook | None = None,
    refused: Iterable[NotApproved] = (),
) -> None:
    """Tell each webhook what it has not been told. Nothing that fails here fails a pass.

    Without `windows` the pass does not know what stands, and tells lines of the ledger alone.
    """
    if shell.notifier is None or shell.interrupted():
        return
    try:
        settings = shell.read_base(base_head(shell)).settings
        if settings.notify:
            facts = _Facts(shell, settings, windows, tuple(refused))
            _send_all(shell, facts, shell.notifier)
    except GitbotError as error:
        shell.say(f"notices wait for the next pass: {error}")


def _send_all(shell: RunContext, facts: _Facts, notifier: Notifier) -> None:
    branch, hooks = notices_branch(shell.cluster_name), facts.settings.notify
    head = shell.repository.resolve(branch)
    known = _read(None if head is None else shell.repository.read_blob(head, FILE))
    told = {hook.name: _begin(facts, hook, known.get(hook.name)) for hook in hooks}
    for hook in hooks:
        try:
            _send(facts, hook, told[hook.name], notifier)
        except NoticeError as error:
            shell.say(str(error))
    if told != known:
        shell.repository.write_commit(
            branch=branch,
            expected=head,
            files={FILE: _write(told)},
            message=f"Notices of {shell.cluster_name}",
            time=shell.clock.now(),
            orphan=True,
        )


def _write(told: Mapping[str, _Told]) -> bytes:
    return json.dumps({name: asdict(each) for name, each in told.items()}, sort_keys=True).encode()


def _read(data: bytes | None) -> dict[str, _Told]:
    """What each webhook took; of a damaged file nothing, so all begin at the end."""
    try:
        found = json.loads(data or b"{}")
        return {str(name): _one(**each) for name, each in found.items()}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}


def _one(*, line: object, daily_line: object, standing: object) -> _Told:
    """Raises TypeError if a field has another type."""
    if not isinstance(line, int) or not isinstance(daily_line, int | None):
        raise TypeError("lines are numbers")
    if standing is None:
        return _Told(line=line, daily_line=daily_line)
    if not isinstance(standing, list):
        raise TypeError("ids are a list")
    return _Told(line=line, daily_line=daily_line, standing=[str(each) for each in standing])


class _Facts:
    """What may be told after a pass: lines of the ledger, and what stands without a line."""

    def __init__(
        self,
        shell: RunContext,
        settings: Settings,
        windows: WindowOutlook | None,
        refused: tuple[NotApproved, ...],
    ) -> None:
        self._shell = shell
        self.settings, self.now, self.zone = settings, shell.clock.now(), shell.zone
        self.cluster, self.name = shell.cluster_name, shell.ledger_name
        self.ledger = shell.ledger_store.known()
        self.end = self.ledger.events[-1].seq if self.ledger.events else 0
        self._windows, self._stands = windows, tuple[Notice, ...]()
        if windows is not None:
            self._stands = tuple(
                standing_notices(
                    self.ledger,
                    windows,
                    refused,
                    cluster=self.cluster,
                    name=self.name,
                    zone=self.zone,
                    now=self.now,
                )
            )

    def lines(self, after: int) -> Iterator[tuple[int, Notice]]:
        """The notices of the lines after that number, each with the number of its line."""
        begin = bisect_right(self.ledger.events, after, key=lambda event: event.seq)
        events = islice(self.ledger.events, begin, None)
        return ledger_notices(events, self.cluster, name=self.name, zone=self.zone)

    def standing(self, hook: NoticeSettings) -> tuple[Notice, ...] | None:
        """What stands; None if the pass does not know."""
        if self._windows is None or "Weekly" not in hook.events:
            return None if self._windows is None else self._stands
        start = self._windows.next_start
        week = weekly_notice(
            self.ledger,
            self.cluster,
            name=self.name,
            until=_last(hook.daily_at, self.zone, self.now, weekly=True),
            next_window=f"{local_text(start, self.zone)} {self.zone}" if start else "none",
        )
        return (*self._stands, week)

    def is_open(self, hook: NoticeSettings, time: int) -> bool:
        return hook.hours is None or hook.hours.contain(clock_time(time, self.zone))

    def worded(self, document: PublishedNotice) -> PublishedNotice:
        """The notice in the repository's own words, if it has such."""
        own = own_wording(self._shell, NOTICE, lambda _: notice_values(document))
        if own.fault:
            self._shell.say(f"{own.where}: {own.fault}; notices have gitbot's own text")
        return notice_in_words(document, own.text)

    def is_for(self, hook: NoticeSettings, notice: Notice) -> bool:
        owner = self.settings.namespace_owner(notice.namespace) if notice.namespace else None
        teams = () if owner is None else owner.teams
        return hook.concerns(notice.severity, notice.namespace, teams)


def _last(time_of_day: str, zone: str, now: int, *, weekly: bool = False) -> int:
    """Seconds UTC of the last such time of a day, or of a Monday, that is over."""
    local = clock_time(now, zone)
    hour, minute = map(int, time_of_day.split(":"))
    last = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if weekly:
        last -= timedelta(days=last.weekday())
    if last > local:
        last -= timedelta(days=7 if weekly else 1)
    return resolve(last, zone)[0]


def _begin(facts: _Facts, hook: NoticeSettings, known: _Told | None) -> _Told:
    """What a webhook took before this pass. A new one is told nothing of before."""
    if known is None:
        known = _Told(line=facts.end)
    standing, found = known.standing, facts.standing(hook)
    if found is not None:
        ids = {notice.id for notice in found}
        # what is over may come again, and is told again
        standing = sorted(ids if standing is None else ids & set(standing))
    daily_line = None
    if hook.told_daily:
        daily_line = facts.end if known.daily_line is None else min(known.daily_line, facts.end)
    return _Told(line=min(known.line, facts.end), daily_line=daily_line, standing=standing)


def _send(facts: _Facts, hook: NoticeSettings, told: _Told, notifier: Notifier) -> None:
    """Send to one webhook, and note in `told` what arrived. Raises NoticeError."""
    drops = hook.hours is not None and hook.hours.outside == "Drop"
    if drops or facts.is_open(hook, facts.now):
        sent = 0
        for line, notice in _untold(facts, hook, told, told.line):
            is_wanted = notice.event in hook.events and facts.is_for(hook, notice)
            if not is_wanted or (drops and not facts.is_open(hook, notice.time)):
                continue
            if sent == MOST:
                return
            _post(facts, hook, notice_document(notice, facts.cluster), notifier)
            told.took(notice, line)
            sent += 1
        if facts.end - told.line > FAR:
            told.line = facts.end
    _send_daily(facts, hook, told, notifier)


def _untold(
    facts: _Facts, hook: NoticeSettings, told: _Told, after: int
) -> Iterator[tuple[int, Notice]]:
    """What it has not been told: lines after that one, and with line 0 what stands."""
    yield from facts.lines(after)
    known = set(told.standing or ())
    for notice in facts.standing(hook) or ():
        if notice.id not in known:
            yield 0, notice


def _send_daily(facts: _Facts, hook: NoticeSettings, told: _Told, notifier: Notifier) -> None:
    """One notice of what happened before the last time of day."""
    if told.daily_line is None:
        return
    until = _last(hook.daily_at, facts.zone, facts.now)
    past = [
        (line, notice)
        for line, notice in _untold(facts, hook, told, told.daily_line)
        if notice.time < until
    ]
    found = [
        (line, notice)
        for line, notice in past
        if notice.event in hook.told_daily and facts.is_for(hook, notice)
    ]
    last = max((line for line, _ in past), default=0)
    if found:
        notices = sorted((item for _, item in found), key=lambda item: (item.time, item.id))
        document = daily_notice(notices, facts.cluster, name=facts.name, until=until)
        _post(facts, hook, document, notifier)
        told.standing = sorted({*(told.standing or ()), *(it.id for line, it in found if not line)})
    if last and (found or last - told.daily_line > FAR):
        told.daily_line = last


def _post(
    facts: _Facts, hook: NoticeSettings, document: PublishedNotice, notifier: Notifier
) -> None:
    notifier.send(hook.name, document.id, sorted_bytes(facts.worded(document)))
