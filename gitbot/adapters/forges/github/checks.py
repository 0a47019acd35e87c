"""Check runs on one repository.

A digest of its content (`external_id`) identifies a check run, so gitbot finds it after a lost
response and does not write an equal verdict twice. Annotations are sent in chunks of 50 (GitHub's
limit per request); the next call adds those that a crash left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gitbot.adapters.forges.github.api import GitHubApi
from gitbot.adapters.forges.github.decoding import check_of
from gitbot.adapters.forges.rest.answers import reads_answers
from gitbot.adapters.forges.rest.budget import Priority
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.adapters.forges.rest.statuses import Statuses
from gitbot.model.text.canonical import digest
from gitbot.model.text.wording import shortened
from gitbot.ports.forge import (
    Annotation,
    AnnotationLevel,
    CheckRun,
    CheckState,
    CommitStatus,
)
from gitbot.ports.idempotence import is_up_to_date
from gitbot.reports import cut_markdown

CHUNK = 50  # annotations a request
MAX_TEXT = 65_535  # characters of a summary or text
MAX_TITLE = 255
_CUT = "\n\n_Cut here: the comment and the command line have all._"
_FINISHED = {
    CheckState.SUCCESS: "success",
    CheckState.FAILURE: "failure",
    # It could not be evaluated: a person must look.
    CheckState.ERROR: "action_required",
}


@reads_answers
@dataclass(slots=True, kw_only=True)
class Checks:
    """The verdicts on commits. `allowed` becomes False at GitHub's first refusal.

    `account` is gitbot's account. It never treats another App's check run as its own, even under
    the same name. Without an App, the owner of a run is unknown.
    """

    api: GitHubApi
    root: str
    allowed: bool
    account: Callable[[], str]
    statuses: Statuses
    _written: dict[tuple[str, str], str] = field(default_factory=dict)

    def set_check(self, commit: str, check: CheckRun) -> bool:
        if self.allowed:
            try:
                return self._set_run(commit, check)
            except RestRefusal as error:
                if not _only_apps(error):
                    raise
                self.allowed = False
        return self.statuses.set_status(commit, check.status)

    def list_checks(self, commit: str) -> tuple[CheckRun, ...]:
        newest = self._newest(commit)
        return tuple(
            replace(check_of(run), annotations=tuple(self._annotations(run)))
            for _, run in sorted(newest.items())
        )

    def list_statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        found = {status.context: status for status in self.statuses.list_statuses(commit)}
        for name, run in self._newest(commit).items():
            found[name] = check_of(run).status
        return tuple(status for _, status in sorted(found.items()))

    def _newest(self, commit: str, name: str = "") -> dict[str, Any]:
        """The newest run of each name: the highest id. An App considers only its own runs."""
        parameters = {"filter": "latest", **({"check_name": name} if name else {})}
        runs = self.api.pages(
            f"read the checks of {commit[:12]}",
            f"{self.root}/commits/{commit}/check-runs",
            parameters=parameters,
            key="check_runs",
            priority=Priority.SAFETY,
        )
        newest: dict[str, Any] = {}
        for run in filter(self._is_ours, runs):
            known = newest.get(str(run["name"]))
            if known is None or int(run["id"]) > int(known["id"]):
                newest[str(run["name"])] = run
        return newest

    def _is_ours(self, run: Any) -> bool:
        """Whether gitbot's App created it: its bot is the App's slug plus [bot]."""
        if not self.api.credentials.writes_checks:
            return True
        slug = (run.get("app") or {}).get("slug")
        return f"{slug}[bot]" == self.account().lower()

    def _annotations(self, run: Any) -> Iterator[Annotation]:
        if not (run.get("output") or {}).get("annotations_count"):
            return
        path = f"{self.root}/check-runs/{run['id']}/annotations"
        for value in self.api.pages("read annotations", path):
            yield Annotation(
                path=str(value["path"]),
                line=int(value["start_line"]),
                level=AnnotationLevel(str(value["annotation_level"])),
                message=str(value["message"] or ""),
                title=str(value.get("title") or ""),
            )

    def _set_run(self, commit: str, check: CheckRun) -> bool:
        body = _run_body(commit, check)
        identity = body["external_id"]
        if is_up_to_date(self._written.get((commit, check.name)), identity):
            return False
        present = self._newest(commit, check.name).get(check.name)
        same = is_up_to_date(_identity(present), identity)
        chunks = _chunks(check.annotations)
        if not same:
            present = self._send(commit, check.name, body, present, chunks[0] if chunks else [])
        self._add_annotations(present, body, chunks)
        self._written[commit, check.name] = identity
        return not same

    def _send(
        self, commit: str, name: str, body: dict[str, Any], present: Any, first: list[Any]
    ) -> Any:
        output = {**body["output"], **({"annotations": first} if first else {})}
        path, verb = f"{self.root}/check-runs", "POST"
        if present is not None and _can_change(present):
            path, verb = f"{path}/{present['id']}", "PATCH"
        identity = body["external_id"]

        def found() -> Any:
            run = self._newest(commit, name).get(name)
            return run if is_up_to_date(_identity(run), identity) else None

        return self.api.write(
            f"write the check {name}",
            verb,
            path,
            {**body, "output": output},
            resolve=found,
            priority=Priority.SAFETY,
        )

    def _add_annotations(self, run: Any, body: dict[str, Any], chunks: list[list[Any]]) -> None:
        """Add the chunks that the run does not have yet, judged by its count."""
        path = f"{self.root}/check-runs/{run['id']}"
        for number, chunk in enumerate(chunks):
            wanted = number * CHUNK + len(chunk)
            if int((run.get("output") or {}).get("annotations_count") or 0) >= wanted:
                continue

            def found(wanted: int = wanted) -> Any:
                value = self.api.get("read a check", path).body
                return value if int(value["output"]["annotations_count"]) >= wanted else None

            run = self.api.write(
                f"annotate the check {body['name']}",
                "PATCH",
                path,
                {"output": {**body["output"], "annotations": chunk}},
                resolve=found,
            )


def _run_body(commit: str, check: CheckRun) -> dict[str, Any]:
    output = {
        "title": shortened(check.title, MAX_TITLE),
        "summary": _cut(check.summary or check.title),
        **({"text": _cut(check.text)} if check.text else {}),
    }
    state: dict[str, Any] = {"status": "in_progress"}
    if check.state is not CheckState.PENDING:
        state = {"status": "completed", "conclusion": _FINISHED[check.state]}
    body = {
        "name": check.name,
        "head_sha": commit,
        **state,
        "output": output,
        **({"details_url": check.url} if check.url else {}),
    }
    said = {**body, "annotations": [_annotation(item) for item in check.annotations]}
    return {**body, "external_id": digest(said)}


def _annotation(item: Annotation) -> dict[str, Any]:
    return {
        "path": item.path,
        "start_line": max(1, item.line),
        "end_line": max(1, item.line),
        "annotation_level": str(item.level),
        "message": shortened(item.message, MAX_TEXT) or item.title,
        **({"title": shortened(item.title, MAX_TITLE)} if item.title else {}),
    }


def _chunks(annotations: tuple[Annotation, ...]) -> list[list[Any]]:
    values = [_annotation(item) for item in annotations]
    return [values[start : start + CHUNK] for start in range(0, len(values), CHUNK)]


def _identity(run: Any) -> str | None:
    """The identity of a run; None for none: GitHub ends unfinished runs after two weeks."""
    if run is None or run.get("conclusion") == "stale":
        return None
    return str(run.get("external_id") or "")


def _can_change(run: Any) -> bool:
    """Annotations cannot be removed, so a run that has some is replaced by a new run."""
    count = (run.get("output") or {}).get("annotations_count")
    return run.get("status") != "completed" and not count


def _only_apps(error: RestRefusal) -> bool:
    """Whether GitHub accepts no check runs from these credentials at all.

    The words of a refusal: "You must authenticate via a GitHub App", "Resource not accessible by
    personal access token", or 404 for a classic token.
    """
    return error.status in (403, 404) and "rate limit" not in error.said.lower()


def _cut(text: str) -> str:
    return cut_markdown(text, MAX_TEXT, _CUT)
