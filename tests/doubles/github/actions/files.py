"""Workflow files as values."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from gitbot.documents import read_documents
from gitbot.errors import InvalidInput
from tests.doubles.github.state import JSON, Repository

FOLDER = ".github/workflows"
# The reader takes `on` for a boolean, as YAML 1.1 does; GitHub does not.
_ON = re.compile(rb"^on:", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """One job as written. `permissions` None: the workflow's, or the repository's default."""

    key: str
    name: str
    needs: tuple[str, ...]
    matrix: tuple[JSON, ...]
    environment: str
    permissions: dict[str, str] | None
    group: str
    cancel_in_progress: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFile:
    """One workflow file at one commit. `on` maps each event to its filters."""

    path: str
    name: str
    commit: str
    on: dict[str, JSON]
    group: str
    cancel_in_progress: bool
    permissions: dict[str, str] | None
    jobs: tuple[JobFile, ...]
    content: JSON = field(default_factory=dict)


def read_workflows(repository: Repository, commit: str) -> tuple[WorkflowFile, ...]:
    """All workflow files of a commit, by path. Raises InvalidInput for one that is not YAML."""
    git = repository.git
    if git.kind(f"{commit}:{FOLDER}") != "tree":
        return ()
    names = [entry.path for entry in git.tree(f"{commit}:{FOLDER}") if entry.kind == "blob"]
    paths = [f"{FOLDER}/{name}" for name in names if name.endswith((".yml", ".yaml"))]
    return tuple(read_workflow(path, git.blob(f"{commit}:{path}"), commit) for path in paths)


def read_workflow(path: str, data: bytes, commit: str = "") -> WorkflowFile:
    """One workflow file. Raises InvalidInput."""
    documents, findings = read_documents(_ON.sub(b'"on":', data), path)
    if findings or len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise InvalidInput("\n".join(map(str, findings)) or f"{path} is no workflow")
    content: JSON = documents[0].value
    group, cancel = _concurrency(content.get("concurrency"))
    return WorkflowFile(
        path=path,
        name=str(content.get("name", path)),
        commit=commit,
        on=_events(content.get("on")),
        group=group,
        cancel_in_progress=cancel,
        permissions=_permissions(content.get("permissions")),
        jobs=tuple(_job(key, job) for key, job in content.get("jobs", {}).items()),
        content=content,
    )


def _events(on: Any) -> dict[str, JSON]:
    if isinstance(on, str):
        return {on: {}}
    if isinstance(on, list):
        return {str(name): {} for name in on}
    if isinstance(on, dict):
        return {
            name: {"cron": row} if name == "schedule" else (row or {}) for name, row in on.items()
        }
    return {}


def _concurrency(value: Any) -> tuple[str, bool]:
    if isinstance(value, dict):
        return str(value["group"]), value.get("cancel-in-progress") is True
    return (str(value), False) if value else ("", False)


def _permissions(value: Any) -> dict[str, str] | None:
    if value is None:
        return None
    if value in ("read-all", "write-all"):
        level = str(value).removesuffix("-all")
        return dict.fromkeys(ALL_PERMISSIONS, level)
    return {name.replace("-", "_"): str(level) for name, level in value.items()}


ALL_PERMISSIONS = (
    "actions",
    "checks",
    "contents",
    "deployments",
    "issues",
    "packages",
    "pull_requests",
    "security_events",
    "statuses",
)


def _job(key: str, job: JSON) -> JobFile:
    needs = job.get("needs", ())
    environment = job.get("environment", "")
    group, cancel = _concurrency(job.get("concurrency"))
    return JobFile(
        key=key,
        name=str(job.get("name", key)),
        needs=(needs,) if isinstance(needs, str) else tuple(needs),
        matrix=_matrix((job.get("strategy") or {}).get("matrix")),
        environment=environment if isinstance(environment, str) else str(environment["name"]),
        permissions=_permissions(job.get("permissions")),
        group=group,
        cancel_in_progress=cancel,
    )


def _matrix(matrix: Any) -> tuple[JSON, ...]:
    """Every combination of a matrix of lists; one empty one where there is none."""
    if not isinstance(matrix, dict):
        return ({},)
    rows = {name: values for name, values in matrix.items() if name not in ("include", "exclude")}
    return tuple(
        dict(zip(rows, values, strict=True)) for values in itertools.product(*rows.values())
    )
