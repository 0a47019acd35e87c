"""The metrics of `reconcile`: for /metrics, node_exporter's textfile collector or a pushing job.

Each pass replaces the file in one step. Counters that only passes count go on from the file before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot import gitbot_version
from gitbot.errors import UsageError
from gitbot.wiring import replace_file

if TYPE_CHECKING:
    from gitbot.reports import MetricValues
    from gitbot.workflows.watch import ReconcileResult

_OK, _FAILING = "ok", "failing"


class MetricsFile:
    """The text of the last pass, also as a file if there is a path.

    `wanted` keeps the text without a path, too. Raises UsageError if the file cannot be written.
    """

    def __init__(self, path: str, *, wanted: bool = False) -> None:
        self._path = Path(path) if path else None
        self._wanted = wanted or bool(path)
        self._passes = Counter({_OK: 0, _FAILING: 0})
        self._last_success = 0.0
        self._last: dict[str, MetricValues] = {}
        if self._path is not None:
            self._read_before(self._path)
        self._text = self._exposition("", None) if self._wanted else b""

    def text(self) -> tuple[str, bytes]:
        """The media type and the text after the last pass; before the first one, what is known."""
        from gitbot.reports import exposition_type  # noqa: PLC0415 - keeps --help quick

        return exposition_type(), self._text

    def passed(self, cluster: str, now: int, result: ReconcileResult) -> None:
        if not self._wanted:
            return
        still = result.applied.standstill
        healthy = not result.unsure and (still is None or still.healthy)
        self._passes[_OK if healthy else _FAILING] += 1
        self._last_success = now if healthy else self._last_success
        self._last = {item.name: item for item in _of_pass(cluster, now, result)}
        self._write(cluster, healthy=healthy)

    def failing(self, cluster: str, now: int) -> None:
        """After a pass that ended with an error: what it did not read keeps its last value."""
        from gitbot.reports import MetricValues  # noqa: PLC0415 - keeps --help quick

        if not self._wanted:
            return
        self._passes[_FAILING] += 1
        ended = "gitbot_last_pass_timestamp_seconds"
        self._last[ended] = MetricValues(name=ended, values={"": now})
        self._write(cluster, healthy=False)

    def _write(self, cluster: str, *, healthy: bool) -> None:
        self._text = self._exposition(cluster, healthy)
        if self._path is None:
            return
        try:
            replace_file(self._path, self._text)
        except OSError as error:
            raise UsageError(
                f"the metrics file {self._path} cannot be written: {error.strerror}",
                hint="give --metrics-file a path in a folder that is there",
            ) from error

    def _exposition(self, cluster: str, healthy: bool | None) -> bytes:
        from gitbot.reports import MetricValues, exposition  # noqa: PLC0415 - keeps --help quick

        known = {} if healthy is None else {"": float(healthy)}
        success = {"": self._last_success}
        process = (
            MetricValues(name="gitbot_build_info", values={gitbot_version(): 1}),
            MetricValues(name="gitbot_healthy", values=known),
            MetricValues(name="gitbot_passes_total", values=self._passes),
            MetricValues(name="gitbot_last_success_timestamp_seconds", values=success),
        )
        return exposition(cluster, (*process, *self._last.values()))

    def _read_before(self, path: Path) -> None:
        """Counters of the file before. A file that is not one of ours counts as none."""
        from gitbot.reports import samples  # noqa: PLC0415 - keeps --help quick

        with suppress(OSError, ValueError, OverflowError):  # int() of an infinite value, too
            for name, labels, value in samples(path.read_text("utf-8")):
                if name == "gitbot_passes_total" and labels.get("result") in self._passes:
                    self._passes[labels["result"]] = int(value)
                elif name == "gitbot_last_success_timestamp_seconds":
                    self._last_success = value


def _of_pass(cluster: str, now: int, result: ReconcileResult) -> Iterator[MetricValues]:
    from gitbot.reports import MetricValues  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.ask import ledger_metrics  # noqa: PLC0415

    applied = result.applied
    waiting = {"time": 0, "cluster": 0, "person": 0}
    for move in applied.waiting:
        if move.until > now:
            waiting["time"] += 1
        else:  # a slot or a pause ends by itself, the rest needs a merge, an approval or a command
            waiting["cluster" if move.retry else "person"] += 1
    numbers: dict[str, float] = {
        "gitbot_stopped": bool(applied.stop),
        "gitbot_ledger_doubted": applied.doubts_ledger,
        "gitbot_last_pass_timestamp_seconds": now,
        "gitbot_last_pass_duration_seconds": round(result.seconds, 3),
        "gitbot_refused_merges": len(applied.refused),
        "gitbot_not_allowed": len(applied.not_allowed),
        "gitbot_internal_errors": result.internal,
        "gitbot_next_opening_timestamp_seconds": min(
            (move.until for move in applied.waiting if move.until > now), default=0
        ),
        "gitbot_last_pass_forge_requests": result.requests.sent,
        "gitbot_last_look_timestamp_seconds": result.looked_at,
        "gitbot_ledger_appends_total": result.ledger_counts.appends,
        "gitbot_ledger_lost_races_total": result.ledger_counts.lost_races,
        "gitbot_cluster_requests_total": result.traffic.sent,
        "gitbot_cluster_received_bytes_total": result.traffic.received,
    }
    if result.away is not None:
        numbers["gitbot_vms_away"] = result.away
    stages = {str(stage): round(seconds, 3) for stage, seconds in result.stages.items()}
    yield MetricValues(name="gitbot_last_pass_stage_duration_seconds", values=stages)
    yield MetricValues(name="gitbot_waiting_moves", values=waiting)
    if (windows := result.windows) is not None:
        at_risk = {"merge": len(windows.unmerged), "time": len(windows.late)}
        yield MetricValues(name="gitbot_windows_at_risk", values=at_risk)
        numbers["gitbot_next_window_timestamp_seconds"] = windows.next_start
    for name, value in numbers.items():
        yield MetricValues(name=name, values={"": value})
    left = result.requests.remaining
    known = {} if left is None else {"": float(left)}
    yield MetricValues(name="gitbot_forge_requests_remaining", values=known)
    if applied.ledger is not None:
        yield from ledger_metrics(applied.ledger, cluster)
