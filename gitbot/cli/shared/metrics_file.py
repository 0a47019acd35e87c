"""The metrics file of `reconcile`, for node_exporter's textfile collector or a pushing job.

Each pass replaces it in one step. Counters that only passes count go on from the file before.
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
    """Does nothing without a path. Raises UsageError if the file cannot be written."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._passes = Counter({_OK: 0, _FAILING: 0})
        self._last_success = 0.0
        self._last: dict[str, MetricValues] = {}
        if self._path is not None:
            self._read_before(self._path)

    def passed(self, cluster: str, now: int, result: ReconcileResult) -> None:
        if self._path is None:
            return
        still = result.applied.standstill
        healthy = not result.unsure and (still is None or still.healthy)
        self._passes[_OK if healthy else _FAILING] += 1
        self._last_success = now if healthy else self._last_success
        self._last = {item.name: item for item in _of_pass(cluster, now, result)}
        self._write(self._path, cluster, healthy=healthy)

    def failing(self, cluster: str, now: int) -> None:
        """After a pass that ended with an error: what it did not read keeps its last value."""
        from gitbot.reports import MetricValues  # noqa: PLC0415 - keeps --help quick

        if self._path is None:
            return
        self._passes[_FAILING] += 1
        ended = "gitbot_last_pass_timestamp_seconds"
        self._last[ended] = MetricValues(name=ended, values={"": now})
        self._write(self._path, cluster, healthy=False)

    def _write(self, path: Path, cluster: str, *, healthy: bool) -> None:
        from gitbot.reports import MetricValues, exposition  # noqa: PLC0415 - keeps --help quick

        process = (
            MetricValues(name="gitbot_build_info", values={gitbot_version(): 1}),
            MetricValues(name="gitbot_healthy", values={"": healthy}),
            MetricValues(name="gitbot_passes_total", values=self._passes),
            MetricValues(
                name="gitbot_last_success_timestamp_seconds", values={"": self._last_success}
            ),
        )
        text = exposition(cluster, (*process, *self._last.values()))
        try:
            replace_file(path, text)
        except OSError as error:
            raise UsageError(
                f"the metrics file {path} cannot be written: {error.strerror}",
                hint="give --metrics-file a path in a folder that is there",
            ) from error

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
        "gitbot_last_pass_timestamp_seconds": now,
        "gitbot_last_pass_duration_seconds": round(result.seconds, 3),
        "gitbot_refused_merges": len(applied.refused),
        "gitbot_not_allowed": len(applied.not_allowed),
        "gitbot_internal_errors": result.internal,
    }
    yield MetricValues(name="gitbot_waiting_moves", values=waiting)
    for name, value in numbers.items():
        yield MetricValues(name=name, values={"": value})
    if applied.ledger is not None:
        yield from ledger_metrics(applied.ledger, cluster)
