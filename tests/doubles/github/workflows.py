"""Workflow files as values, and which event starts one. Raises InvalidInput for anything else.

Sources: GitHub docs, "Events that trigger workflows" and "Automatic token authentication".
"""

import itertools
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gitbot.documents import read_documents
from gitbot.errors import InvalidInput
from tests.doubles.github.core import Event
from tests.doubles.github.state import JSON, Repository

FOLDER = ".github/workflows/"
# The reader takes `on` for a boolean, as YAML 1.1 does; GitHub does not.
_ON = re.compile(rb"^on:", re.MULTILINE)
_FILTERS: dict[str, set[str]] = {
    "issue_comment": {"types"},
    "merge_group": set(),
    "pull_request": {"branches"},  # without types: opened, synchronize, reopened
    "push": {"branches"},
    "schedule": {"cron"},
    "workflow_dispatch": {"inputs"},
    "workflow_run": {"types", "workflows"},
}
_PLACE = re.compile(r"\$\{\{(.*?)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFile:
    """One workflow file. `on` maps each event to its filters."""

    path: str
    on: dict[str, JSON]
    content: JSON

    def takes(self, event: Event) -> bool:
        """Whether an event starts it. Of a GITHUB_TOKEN's events only a dispatch does."""
        filters = self.on.get(event.name)
        if filters is None or (event.by.kind == "job" and event.name != "workflow_dispatch"):
            return False
        payload = event.payload
        if payload.get("action") not in filters.get("types", [payload.get("action")]):
            return False
        match event.name:
            case "push":
                return _is_one(filters, event.ref.removeprefix("refs/heads/"))
            case "pull_request":
                return _is_one(filters, payload["pull_request"]["base"]["ref"])
            case "workflow_run":
                return payload["workflow_run"]["name"] in filters["workflows"]
            case "schedule" | "workflow_dispatch":
                return bool(payload["workflow"] == self.path)
        return True


def _is_one(filters: JSON, branch: str) -> bool:
    return any(fnmatchcase(branch, pattern) for pattern in filters.get("branches", ["*"]))


def read_workflows(repository: Repository, commit: str) -> tuple[WorkflowFile, ...]:
    """All workflow files of a commit, by path. Raises InvalidInput."""
    paths = [path for path in repository.git.files(commit) if path.startswith(FOLDER)]
    return tuple(read_workflow(repository, commit, path) for path in paths)


def read_workflow(repository: Repository, commit: str, path: str) -> WorkflowFile:
    """One workflow file. Raises InvalidInput."""
    data = repository.git.blob(f"{commit}:{path}")
    documents, findings = read_documents(_ON.sub(b'"on":', data), path)
    if findings or len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise InvalidInput("\n".join(map(str, findings)) or f"{path} is not a workflow")
    content: JSON = documents[0].value
    if any(
        job.get("concurrency", {}).get("cancel-in-progress") for job in content["jobs"].values()
    ):
        raise InvalidInput(f"{path}: jobs that cancel others are beyond the GitHub double")
    return WorkflowFile(path=path, on=_events(path, content["on"]), content=content)


def _events(path: str, on: Any) -> dict[str, JSON]:
    rows: JSON = {on: None} if isinstance(on, str) else on
    found = {name: {"cron": row} if name == "schedule" else row or {} for name, row in rows.items()}
    for name, filters in found.items():
        if not set(filters) <= _FILTERS.get(name, set()) or name not in _FILTERS:
            raise InvalidInput(f"{path}: the event {name} is beyond the GitHub double")
    return found


def combinations(job: JSON) -> list[JSON]:
    """Every combination of a job's matrix of lists; one empty one if it has none."""
    matrix = job.get("strategy", {}).get("matrix", {})
    return [dict(zip(matrix, row, strict=True)) for row in itertools.product(*matrix.values())]


def permissions_of(job: JSON, workflow: JSON) -> dict[str, str]:
    """What a job's token may do, as GitHub's API calls it."""
    asked = job.get("permissions", workflow.get("permissions"))
    rights = {"contents": "read"} if asked is None else asked
    return {name.replace("-", "_"): level for name, level in rights.items() if level != "none"}


def fill(text: str, context: JSON) -> str:
    """Evaluate the expressions in a text: paths, texts, && and ||. Raises InvalidInput."""

    def value(found: re.Match[str]) -> str:
        worth: Any = None
        for either in found.group(1).split("||"):
            worth = True
            for both in either.split("&&"):
                worth = worth and _value(both.strip(), context)
            if worth:
                break
        return "" if worth is None else str(worth)

    return _PLACE.sub(value, text)


def _value(word: str, context: JSON) -> Any:
    if re.fullmatch(r"'[^']*'", word):
        return word[1:-1]
    if not re.fullmatch(r"[\w.-]+", word):
        raise InvalidInput(f"the expression {word!r} is beyond the GitHub double")
    value: Any = context
    for part in word.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def is_due(line: str, after: int, until: int) -> bool:
    """Whether a cron line is due in (after, until], seconds UTC: some minutes of every hour."""
    minutes, *rest = line.split()
    if rest != ["*"] * 4:
        raise InvalidInput(f"the schedule {line!r} is beyond the GitHub double")
    wanted = {int(minute) for minute in minutes.split(",")}
    first = after // 60 + 1
    return any(minute % 60 in wanted for minute in range(first, until // 60 + 1))
