"""Rulesets, and the rules that hold for a branch."""

from __future__ import annotations

from tests.doubles.github.calls import Answer, Call, number_in, route
from tests.doubles.github.links import node_id, time_text
from tests.doubles.github.problems import missing, not_found
from tests.doubles.github.protection import active_rules
from tests.doubles.github.state import JSON, Repository


def _shape(call: Call, repository: Repository, number: int, *, brief: bool = False) -> JSON:
    ruleset = repository.rulesets[number]
    name = repository.full_name
    details = {
        "bypass_actors": ruleset.get("bypass_actors") or [],
        "conditions": ruleset.get("conditions") or {},
        "rules": ruleset.get("rules") or [],
        "current_user_can_bypass": "never",
    }
    return {
        "id": number,
        "name": ruleset["name"],
        "target": ruleset.get("target", "branch"),
        "source_type": "Repository",
        "source": name,
        "enforcement": ruleset["enforcement"],
        "node_id": node_id("RRS", number),
        "_links": {
            "self": {"href": call.links.repo(name, f"/rulesets/{number}")},
            "html": {"href": call.links.page(name, f"/rules/{number}")},
        },
        "created_at": time_text(repository.created),
        "updated_at": time_text(repository.created),
        **({} if brief else details),
    }


def _list(call: Call) -> Answer:
    repository = call.repository
    numbers = sorted(repository.rulesets)
    return call.page([_shape(call, repository, number, brief=True) for number in numbers])


def _find(call: Call) -> tuple[Repository, int]:
    repository, number = call.repository, number_in(call, "ruleset_id")
    if number not in repository.rulesets:
        raise not_found()
    return repository, number


def _get(call: Call) -> JSON:
    return _shape(call, *_find(call))


def _create(call: Call) -> JSON:
    repository, body = call.repository, call.body
    for name in ("name", "enforcement"):
        if name not in body:
            raise missing("RepositoryRuleset", name)
    number = call.github.new_id()
    repository.rulesets[number] = dict(body)
    return _shape(call, repository, number)


def _update(call: Call) -> JSON:
    repository, number = _find(call)
    repository.rulesets[number].update(call.body)
    return _shape(call, repository, number)


def _delete(call: Call) -> Answer:
    repository, number = _find(call)
    del repository.rulesets[number]
    return Answer(code=204)


def _of_branch(call: Call) -> Answer:
    return call.page(active_rules(call.repository, call.parameters["branch"]))


ROUTES = (
    route("GET", "~/rulesets", _list, "metadata:read"),
    route("POST", "~/rulesets", _create, "administration:write", success=201),
    route("GET", "~/rulesets/{ruleset_id}", _get, "metadata:read"),
    route("PUT", "~/rulesets/{ruleset_id}", _update, "administration:write"),
    route("DELETE", "~/rulesets/{ruleset_id}", _delete, "administration:write"),
    route("GET", "~/rules/branches/{branch}", _of_branch, "metadata:read"),
)
