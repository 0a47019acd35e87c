"""Branches and classic branch protection."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem
from tests.doubles.github.protection import active_rules
from tests.doubles.github.shapes import git as shapes
from tests.doubles.github.state import JSON, Protection, Repository


def _protected(repository: Repository, branch: str) -> bool:
    return branch in repository.protection or bool(active_rules(repository, branch))


def _list(call: Call) -> Answer:
    repository = call.repository
    name = repository.full_name
    found = []
    for ref, sha in sorted(repository.git.refs().items()):
        if not ref.startswith("refs/heads/"):
            continue
        branch = ref.removeprefix("refs/heads/")
        here = call.links.repo(name, f"/branches/{quote(branch, safe='')}")
        found.append(
            {
                "name": branch,
                "commit": {"sha": sha, "url": call.links.repo(name, f"/commits/{sha}")},
                "protected": _protected(repository, branch),
                "protection_url": f"{here}/protection",
            }
        )
    return call.page(found)


def _get(call: Call) -> JSON:
    repository, branch = call.repository, call.parameters["branch"]
    sha = _existing(repository, branch)
    name = repository.full_name
    here = call.links.repo(name, f"/branches/{quote(branch, safe='')}")
    classic = repository.protection.get(branch)
    return {
        "name": branch,
        "commit": shapes.commit(call.links, name, repository.git.commit(sha)),
        "_links": {"self": here, "html": call.links.page(name, f"/tree/{branch}")},
        "protected": _protected(repository, branch),
        "protection": {
            "enabled": classic is not None,
            "required_status_checks": {
                "enforcement_level": "off"
                if classic is None or not classic.contexts
                else "everyone",
                "contexts": list(classic.contexts) if classic else [],
                "checks": [{"context": c, "app_id": None} for c in classic.contexts]
                if classic
                else [],
            },
        },
        "protection_url": f"{here}/protection",
    }


def _existing(repository: Repository, branch: str) -> str:
    sha = repository.git.resolve(f"refs/heads/{branch}")
    if sha is None:
        raise Problem(404, "Branch not found")
    return sha


def _protection(call: Call) -> JSON:
    repository, branch = call.repository, call.parameters["branch"]
    _existing(repository, branch)
    classic = repository.protection.get(branch)
    if classic is None:
        raise Problem(404, "Branch not protected")
    return _shape(call, repository, branch, classic)


def _shape(call: Call, repository: Repository, branch: str, classic: Protection) -> JSON:
    here = call.links.repo(repository.full_name, f"/branches/{quote(branch, safe='')}/protection")
    shown: dict[str, Any] = {
        "url": here,
        "enforce_admins": {"url": f"{here}/enforce_admins", "enabled": classic.enforce_admins},
        "required_linear_history": {"enabled": classic.linear},
        "allow_force_pushes": {"enabled": classic.force_pushes},
        "allow_deletions": {"enabled": classic.deletions},
    }
    if classic.checks_required:
        shown["required_status_checks"] = {
            "url": f"{here}/required_status_checks",
            "strict": classic.strict,
            "contexts": list(classic.contexts),
            "contexts_url": f"{here}/required_status_checks/contexts",
            "checks": [{"context": context, "app_id": None} for context in classic.contexts],
        }
    if classic.reviews_required:
        shown["required_pull_request_reviews"] = {
            "url": f"{here}/required_pull_request_reviews",
            "dismiss_stale_reviews": classic.dismiss_stale,
            "require_code_owner_reviews": classic.code_owners,
            "required_approving_review_count": classic.reviews,
            "require_last_push_approval": classic.last_push_approval,
        }
    return shown


def _put(call: Call) -> JSON:
    repository = call.repository
    branch, body = call.parameters["branch"], call.body
    _existing(repository, branch)
    reviews = body.get("required_pull_request_reviews")
    checks = body.get("required_status_checks")
    contexts: list[str] = []
    if checks:
        contexts = list(checks.get("contexts") or [c["context"] for c in checks.get("checks", ())])
    repository.protection[branch] = made = Protection(
        reviews_required=reviews is not None,
        reviews=int((reviews or {}).get("required_approving_review_count", 1 if reviews else 0)),
        dismiss_stale=bool((reviews or {}).get("dismiss_stale_reviews")),
        code_owners=bool((reviews or {}).get("require_code_owner_reviews")),
        last_push_approval=bool((reviews or {}).get("require_last_push_approval")),
        checks_required=checks is not None,
        contexts=tuple(contexts),
        strict=bool((checks or {}).get("strict")),
        enforce_admins=bool(body.get("enforce_admins")),
        restrictions=body.get("restrictions"),
        linear=bool(body.get("required_linear_history")),
        force_pushes=bool(body.get("allow_force_pushes")),
        deletions=bool(body.get("allow_deletions")),
    )
    return _shape(call, repository, branch, made)


def _delete(call: Call) -> Answer:
    branch = call.parameters["branch"]
    if call.repository.protection.pop(branch, None) is None:
        raise Problem(404, "Branch not protected")
    return Answer(code=204)


ROUTES = (
    route("GET", "~/branches", _list, "contents:read"),
    route("GET", "~/branches/{branch}", _get, "metadata:read"),
    route("GET", "~/branches/{branch}/protection", _protection, "administration:read"),
    route("PUT", "~/branches/{branch}/protection", _put, "administration:write"),
    route("DELETE", "~/branches/{branch}/protection", _delete, "administration:write"),
)
