"""Check runs and suites. Only Apps and GITHUB_TOKEN may write them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.doubles.github.calls import Answer, Call, number_in, route
from tests.doubles.github.problems import Problem, custom, invalid, missing, not_found
from tests.doubles.github.routes.statuses import commit_of
from tests.doubles.github.shapes import checks as shapes
from tests.doubles.github.state import JSON, CheckRun, CheckSuite, Repository

MOST_ANNOTATIONS = 50  # a request; further ones are added by updates
LONGEST_TEXT = 65_535  # characters of a summary and of a text
_CONCLUSIONS = (
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "stale",
    "timed_out",
)
_STATUSES = ("queued", "in_progress", "completed")


def _apps_only(call: Call) -> None:
    if call.principal.kind not in ("job", "installation"):
        raise Problem(403, "You must authenticate via a GitHub App.")


def _create(call: Call) -> JSON:
    _apps_only(call)
    repository, body = call.repository, call.body
    for name in ("name", "head_sha"):
        if not body.get(name):
            raise missing("CheckRun", name)
    sha = repository.git.resolve(str(body["head_sha"]))
    if sha is None:
        raise Problem(422, f"No commit found for SHA: {body['head_sha']}")
    run = CheckRun(
        id=call.github.new_id(),
        suite_id=suite_of(call, repository, sha, call.principal.app_id).id,
        name=str(body["name"]),
        sha=sha,
        app_id=call.principal.app_id,
        status="queued",
        conclusion=None,
        external_id=str(body.get("external_id") or ""),
        details_url=str(body.get("details_url") or ""),
        started=_moment(body.get("started_at")) or call.now,
    )
    _change(call, run)
    repository.check_runs[run.id] = run
    return shapes.check_run(call.links, call.state, repository, run)


def suite_of(call: Call, repository: Repository, sha: str, app_id: int) -> CheckSuite:
    """The suite of an App on a commit, made where there is none."""
    for suite in repository.suites.values():
        if (suite.sha, suite.app_id) == (sha, app_id):
            return suite
    branches = [name for name, at in sorted(repository.refs.items()) if at == sha]
    heads = [name.removeprefix("refs/heads/") for name in branches if "/heads/" in name]
    made = CheckSuite(
        id=call.github.new_id(),
        sha=sha,
        app_id=app_id,
        branch=heads[0] if heads else "",
        created=call.now,
    )
    repository.suites[made.id] = made
    return made


def _change(call: Call, run: CheckRun) -> None:
    body = call.body
    if "status" in body:
        if body["status"] not in _STATUSES:
            raise invalid("CheckRun", "status")
        run.status = str(body["status"])
        if run.status != "completed":
            run.conclusion, run.completed = None, 0
    if body.get("conclusion") is not None:
        if body["conclusion"] not in _CONCLUSIONS:
            raise invalid("CheckRun", "conclusion")
        run.conclusion, run.status = str(body["conclusion"]), "completed"
        run.completed = _moment(body.get("completed_at")) or call.now
    elif run.status == "completed" and run.conclusion is None:
        raise missing("CheckRun", "conclusion")
    for name in ("name", "external_id", "details_url"):
        if body.get(name):
            setattr(run, name, str(body[name]))
    if body.get("output") is not None:
        _output(run, body["output"])


def _output(run: CheckRun, output: JSON) -> None:
    for name in ("summary", "title"):
        if name in output and output[name] is None:
            raise missing("CheckRun", name)
    for name in ("summary", "text"):
        if len(str(output.get(name) or "")) > LONGEST_TEXT:
            message = (
                f"Only {LONGEST_TEXT} characters are allowed; {len(output[name])} were supplied."
            )
            raise custom("CheckRun", message, field=name)
    annotations = list(output.get("annotations") or ())
    if len(annotations) > MOST_ANNOTATIONS:
        message = f"No more than {MOST_ANNOTATIONS} annotations are allowed per request."
        raise custom("CheckRun", message, field="annotations")
    for annotation in annotations:
        _annotation(annotation)
    run.annotations += annotations  # an update adds to what is there
    for name in ("title", "summary", "text"):
        if name in output:
            setattr(run, name, output[name])


def _annotation(annotation: JSON) -> None:
    for name in ("path", "start_line", "end_line", "annotation_level", "message"):
        if annotation.get(name) in (None, ""):
            raise missing("CheckRun", f"annotations.{name}")
    if annotation["annotation_level"] not in ("notice", "warning", "failure"):
        raise invalid("CheckRun", "annotation_level")
    columns = "start_column" in annotation or "end_column" in annotation
    if columns and annotation["start_line"] != annotation["end_line"]:
        raise custom("CheckRun", "columns are only allowed on annotations of one line")


def _update(call: Call) -> JSON:
    _apps_only(call)
    repository, run = _find(call)
    if run.app_id != call.principal.app_id:
        raise Problem(
            403,
            "Invalid app_id: a check run can only be modified by the App that created it.",
        )
    _change(call, run)
    return shapes.check_run(call.links, call.state, repository, run)


def _find(call: Call) -> tuple[Repository, CheckRun]:
    repository = call.repository
    run = repository.check_runs.get(number_in(call, "check_run_id"))
    if run is None:
        raise not_found()
    return repository, run


def _get(call: Call) -> JSON:
    repository, run = _find(call)
    return shapes.check_run(call.links, call.state, repository, run)


def _annotations(call: Call) -> Answer:
    repository, run = _find(call)
    return call.page([shapes.annotation(call.links, repository, run, a) for a in run.annotations])


def _on_commit(call: Call) -> Answer:
    repository, sha = commit_of(call, call.parameters["ref"])
    name, app = call.query.get("check_name", ""), call.query.get("app_id", "")
    status = call.query.get("status", "")
    runs = [
        run
        for _, run in sorted(repository.check_runs.items())
        if run.sha == sha
        and name in ("", run.name)
        and status in ("", run.status)
        and app in ("", str(run.app_id))
    ]
    if call.query.get("filter", "latest") == "latest":
        runs = list({(run.name, run.app_id): run for run in runs}.values())
    runs.reverse()
    shown = [shapes.check_run(call.links, call.state, repository, run) for run in runs]
    return call.page(shown, wrap="check_runs")


def _suites(call: Call) -> Answer:
    repository, sha = commit_of(call, call.parameters["ref"])
    found = [suite for _, suite in sorted(repository.suites.items()) if suite.sha == sha]
    shown = [shapes.check_suite(call.links, call.state, repository, suite) for suite in found]
    return call.page(shown, wrap="check_suites")


def _moment(text: Any) -> int:
    return int(datetime.fromisoformat(str(text)).timestamp()) if text else 0


ROUTES = (
    route("POST", "~/check-runs", _create, "checks:write", success=201),
    route("GET", "~/check-runs/{check_run_id}", _get, "checks:read"),
    route("PATCH", "~/check-runs/{check_run_id}", _update, "checks:write"),
    route("GET", "~/check-runs/{check_run_id}/annotations", _annotations, "checks:read"),
    route("GET", "~/commits/{ref}/check-runs", _on_commit, "checks:read"),
    route("GET", "~/commits/{ref}/check-suites", _suites, "checks:read"),
)
