"""Lines of a log that is read at night: time, level, text, then fields; as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gitbot import gitbot_version
from gitbot.cli.shared.session import say
from gitbot.model.text.instants import format_instant

if TYPE_CHECKING:
    from gitbot.model.plan.plan import PlannerFault
    from gitbot.workflows.apply import Standstill
    from gitbot.workflows.core.context import Progress


class Level(StrEnum):
    """How much a line matters: ERROR if gitbot cannot do its work."""

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class LogFormat(StrEnum):
    """How a line is written: for people, or one JSON object for a program."""

    TEXT = "text"
    JSON = "json"


@dataclass(slots=True, kw_only=True)
class Log:
    """The log of one process, on stderr; `cluster` and `executor` are "" until it has both.

    `number` counts the passes of this process from 1, those that failed included; 0 if none runs.
    `standing` are the lines of the last pass that the next one need not repeat.
    """

    cluster: str = ""
    executor: str = ""
    form: LogFormat = LogFormat.TEXT
    number: int = 0
    standing: frozenset[str] = frozenset()

    def write(
        self, time: int, level: Level, text: str, facts: Mapping[str, str] | None = None
    ) -> None:
        number = str(self.number or "")
        mine = {"cluster": self.cluster, "executor": self.executor, "pass": number}
        line = json_line if self.form is LogFormat.JSON else log_line
        say(line(time, level, text, facts={**mine, **(facts or {})}), err=True)

    def progress(self, line: Progress) -> None:
        facts = {"request": line.request or "", "vm": line.vm, "state": line.state}
        self.write(line.time, Level.INFO, line.text, {**facts, **line.facts})

    def standstill(self, time: int, still: Standstill | None) -> None:
        """Say why nothing can start, if so."""
        if still is not None:
            level = Level.INFO if still.healthy else Level.ERROR
            self.write(time, level, f"nothing can start: {still}")

    def faults(self, time: int, faults: Sequence[PlannerFault]) -> None:
        """Say where the planner contradicted itself, once for each place."""
        for report in dict.fromkeys(fault.report for fault in faults):
            facts = {"internal": str(len(faults)), "report": report}
            self.write(time, Level.ERROR, "plan/internal: a fault of gitbot, report it", facts)


def log_line(
    time: int,
    level: Level,
    text: str,
    *,
    facts: Mapping[str, str] | None = None,
) -> str:
    """One line; `time` in seconds UTC. A value with spaces or quotes is quoted."""
    words = [f"{key}={_quoted(value)}" for key, value in _fields(facts)]
    return " ".join([format_instant(time), str(level), " ".join(text.split()), *words])


def json_line(time: int, level: Level, text: str, *, facts: Mapping[str, str] | None = None) -> str:
    """The same as one JSON object, in ASCII: a control character in a text stays an escape."""
    begin = {"time": format_instant(time), "level": str(level), "message": " ".join(text.split())}
    return json.dumps({**begin, **dict(_fields(facts))})


def _fields(facts: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """The version, and every field that has a value."""
    fields = {"version": gitbot_version(), **(facts or {})}
    return [(key, value) for key, value in fields.items() if value]


def _quoted(value: str) -> str:
    if not any(character in value for character in ' "='):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
