"""Commit statuses, check runs (only Apps and GITHUB_TOKEN may write them), code scanning."""

import base64
import gzip
import json

from tests.doubles.github import shapes
from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem, custom, invalid, missing, too_long
from tests.doubles.github.state import JSON, CheckRun, Status

MOST_ANNOTATIONS = 50  # a request; further ones are added by updates
LONGEST_TEXT = 65_535  # characters of a summary and of a text
LONGEST_DESCRIPTION = 140  # characters of a status
_CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped")
_LEVELS = ("notice", "warning", "failure")


def _commit(call: Call, rev: str) -> str:
    sha = call.repository.git.resolve(rev)
    if sha is None:
        raise Problem(422, f"No commit found for SHA: {rev}")
    return sha


@route("POST", "~/statuses/{sha}", "statuses:write", success=201)
def _set_status(call: Call) -> JSON:
    sha, body = _commit(call, call.parameters["sha"]), call.body
    if body.get("state") not in ("error", "failure", "pending", "success"):
        raise invalid("Status", "state")
    made = Status(
        id=call.github.new_id(),
        sha=sha,
        context=body.get("context", "default"),
        state=body["state"],
        description=too_long("Status", "description", body.get("description"), LONGEST_DESCRIPTION),
        target_url=body.get("target_url"),
        creator=call.principal.login,
        updated_at=call.now,
    )
    call.repository.statuses.append(made)
    return shapes.shown(call.github, made)


@route("GET", "~/commits/{ref}/statuses", "statuses:read")
def _statuses(call: Call) -> Answer:
    sha = _commit(call, call.parameters["ref"])
    found = [status for status in reversed(call.repository.statuses) if status.sha == sha]
    return call.page([shapes.shown(call.github, status) for status in found])


@route("POST", "~/check-runs", "checks:write", success=201)
def _create(call: Call) -> JSON:
    _apps_only(call)
    for name in ("name", "head_sha"):
        if not call.body.get(name):
            raise missing("CheckRun", name)
    run = CheckRun(
        id=call.github.new_id(),
        name=call.body["name"],
        head_sha=_commit(call, call.body["head_sha"]),
        app_id=call.principal.app_id,
        status="queued",
        started_at=call.now,
    )
    _change(call, run)
    call.repository.check_runs[run.id] = run
    return shapes.check_run(call.github, run)


def _apps_only(call: Call) -> None:
    if call.principal.kind not in ("job", "installation"):
        raise Problem(403, "You must authenticate via a GitHub App.")


def _change(call: Call, run: CheckRun) -> None:
    body = call.body
    output = body.get("output", {})
    added = output.get("annotations", [])
    for name in ("summary", "text"):
        too_long("CheckRun", name, output.get(name), LONGEST_TEXT)
    if len(added) > MOST_ANNOTATIONS:
        message = f"No more than {MOST_ANNOTATIONS} annotations are allowed per request."
        raise custom("CheckRun", message)
    for annotation in added:
        _check_annotation(annotation)
    if body.get("conclusion") is not None:
        if body["conclusion"] not in _CONCLUSIONS:
            raise invalid("CheckRun", "conclusion")
        run.conclusion, run.status, run.completed_at = body["conclusion"], "completed", call.now
    elif body.get("status") == "completed":
        raise missing("CheckRun", "conclusion")
    elif "status" in body:
        run.status, run.conclusion, run.completed_at = body["status"], None, 0
    for name in ("name", "external_id", "details_url"):
        setattr(run, name, body.get(name) or getattr(run, name))
    run.output |= {name: text for name, text in output.items() if name != "annotations"}
    run.annotations += added  # an update adds to what is there


def _check_annotation(annotation: JSON) -> None:
    for name in ("path", "start_line", "end_line", "annotation_level", "message"):
        if annotation.get(name) in (None, ""):
            raise missing("CheckRun", f"annotations.{name}")
    if annotation["annotation_level"] not in _LEVELS:
        raise invalid("CheckRun", "annotation_level")


def _find(call: Call) -> CheckRun:
    return call.one_of(call.repository.check_runs, "check_run_id")


@route("PATCH", "~/check-runs/{check_run_id}", "checks:write")
def _update(call: Call) -> JSON:
    _apps_only(call)
    run = _find(call)
    if run.app_id != call.principal.app_id:
        raise Problem(403, "Invalid app_id: a check run belongs to the App that created it.")
    _change(call, run)
    return shapes.check_run(call.github, run)


@route("GET", "~/check-runs/{check_run_id}", "checks:read")
def _get(call: Call) -> JSON:
    return shapes.check_run(call.github, _find(call))


@route("GET", "~/check-runs/{check_run_id}/annotations", "checks:read")
def _annotations(call: Call) -> Answer:
    return call.page(_find(call).annotations)


@route("GET", "~/commits/{ref}/check-runs", "checks:read")
def _on_commit(call: Call) -> Answer:
    """The newest of each name and App first."""
    sha, name = _commit(call, call.parameters["ref"]), call.query.get("check_name", "")
    newest = {
        (run.name, run.app_id): run
        for _, run in sorted(call.repository.check_runs.items())
        if run.head_sha == sha and name in ("", run.name)
    }
    runs = sorted(newest.values(), key=lambda run: run.id, reverse=True)
    shown = [shapes.check_run(call.github, run) for run in runs]
    return call.page(shown, wrap="check_runs")


@route("POST", "~/code-scanning/sarifs", "security_events:write", success=202)
def _upload(call: Call) -> JSON:
    body = call.body
    document = json.loads(gzip.decompress(base64.b64decode(body["sarif"], validate=True)))
    made = {
        "ref": body["ref"],
        "commit": _commit(call, body["commit_sha"]),
        "categories": [run["automationDetails"]["id"] for run in document["runs"]],
    }
    call.repository.sarifs.append(made)
    return {"id": str(call.github.new_id())}
