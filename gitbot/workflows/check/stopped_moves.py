"""The approved moves that a freeze of a pull request stops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitbot.model.grouping import grouped
from gitbot.model.ledger.request_id import DrainId, RequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.problem import Freeze, PlacementProblem, Reservation
from gitbot.model.text.instants import FOREVER, Interval, format_instant, intersect, subtract
from gitbot.model.text.wording import counted
from gitbot.reports import FREEZE_STOPS
from gitbot.workflows.check.scope import ClusterScope


def stopped_moves(scope: ClusterScope, problem: PlacementProblem) -> Iterator[Finding]:
    """A warning for each approved request of which a new or changed freeze stops moves."""
    mine = [item for item in problem.freezes if item.intent.id in scope.changed]
    for freeze in mine if scope.before is not None else ():
        of = grouped((item.request, item) for item in _held(freeze, scope.evidence.reservations))
        for request, places in of.items():
            pull = places[0].pull_request
            yield Finding(
                code=FREEZE_STOPS,
                severity=Severity.WARNING,
                message=f"{freeze.intent.name} stops {counted(len(places), 'approved move')} of "
                f"{request}{f' (pull request #{pull})' if pull else ''}: "
                f"{_then(freeze, places, now=problem.now)}",
                file=freeze.intent.file,
                line=freeze.intent.line,
                hint="freeze other VMs or another time, or agree with who approved it"
                f"; afterwards ask again: gitbot {_verb(request)}",
            )


def _verb(request: RequestId) -> str:
    return "drain" if isinstance(request, DrainId) else "move"


def _held(freeze: Freeze, places: Iterable[Reservation]) -> Iterator[Reservation]:
    for item in places:
        if item.vm in freeze.vms and intersect(item.allowed, freeze.times):
            yield item


def _then(freeze: Freeze, places: Iterable[Reservation], *, now: int) -> str:
    ahead = (Interval(start=now, end=FOREVER),)
    left = [subtract(intersect(item.allowed, ahead), freeze.times) for item in places]
    if not all(left) and any(time.end >= FOREVER for item in places for time in item.allowed):
        return "they wait until the freeze is removed"
    if not all(left):
        return (
            "there is no other time for them, so they expire once it is merged, for good: they do"
            " not come back with the end of the freeze"
        )
    first = min(times[0].start for times in left)
    return f"the next may start at {format_instant(first)}"
