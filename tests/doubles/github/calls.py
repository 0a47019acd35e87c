"""One request as the routes see it, and what they answer."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

from tests.doubles.github.actions.engine import Actions
from tests.doubles.github.core import Core
from tests.doubles.github.links import Links
from tests.doubles.github.problems import Problem, no_access, not_found
from tests.doubles.github.state import JSON, ROLES, Principal, Repository, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A decoded request; `path` is below the API's root, without the query."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is sent back. `body` None is an empty one, text and bytes go as they are."""

    code: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> bytes:
        """The bytes of the body."""
        if self.body is None:
            return b""
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode()
        return json.dumps(self.body, ensure_ascii=False).encode()


@dataclass(slots=True, kw_only=True)
class Call:
    """One request on its way through a route."""

    github: Core
    actions: Actions
    state: State
    request: Request
    principal: Principal
    parameters: Mapping[str, str]
    links: Links
    now: int

    @property
    def body(self) -> JSON:
        """The JSON object that came; empty where none did."""
        body = self.request.body
        if body is None:
            return {}
        if not isinstance(body, dict):
            raise Problem(400, "Body should be a JSON object")
        return body

    @property
    def query(self) -> Mapping[str, str]:
        """The query."""
        return self.request.query

    @property
    def repository(self) -> Repository:
        """The repository of the path; 404 where the asker may not see it."""
        name = f"{self.parameters['owner']}/{self.parameters['repo']}".lower()
        found = self.state.repositories.get(name)
        if found is None or not self.sees(found):
            raise not_found()
        return found

    def sees(self, repository: Repository) -> bool:
        """Whether the asker may read it at all."""
        principal = self.principal
        if not repository.private:
            return True
        match principal.kind:
            case "job":
                return principal.repository == repository.full_name
            case "installation":
                return self.github.installed(principal.installation_id, repository)
            case _:
                return self.role(repository, principal.login) != "none"

    def role(self, repository: Repository, login: str) -> str:
        """The role of a person in a repository; a public one can be read by everybody."""
        return self.github.role(repository, login)

    def needs(self, repository: Repository, permission: str, level: str) -> None:
        """403 (or 404) unless the token may do this.

        `permission` is one of GitHub's App permissions, or several that each suffice ("issues |
        pull_requests"). A personal token needs its owner's role instead.
        """
        principal = self.principal
        match principal.kind:
            case "user":
                self._needs_role(repository, permission, level)
            case "job" | "installation":
                self._needs_permission(repository, permission, level)
            case "app":
                raise Problem(401, "A JSON web token could not be decoded")
            case _ if level != "read" or repository.private:
                raise Problem(401, "Requires authentication")

    def _needs_role(self, repository: Repository, permission: str, level: str) -> None:
        role = ROLES.index(self.role(repository, self.principal.login))
        if permission == "administration":
            if role < ROLES.index("admin"):
                raise Problem(403, "Must have admin rights to Repository.") if role else not_found()
            return
        wanted = {"read": "read", "triage": "triage"}.get(level, "write")
        if role < ROLES.index(wanted):
            raise Problem(403, "Must have push access to Repository.") if role else not_found()

    def _needs_permission(self, repository: Repository, permission: str, level: str) -> None:
        principal = self.principal
        if principal.kind == "job" and principal.repository != repository.full_name:
            if level == "read" and not repository.private:
                return
            raise no_access()
        if principal.kind == "installation" and not self.github.installed(
            principal.installation_id, repository
        ):
            raise no_access()
        held = dict(principal.permissions)
        order = ("none", "read", "write", "admin")
        wanted = order.index("write" if level == "triage" else level)
        best = max(order.index(held.get(name.strip(), "none")) for name in permission.split("|"))
        if "metadata" in permission:  # everybody who has any permission has this one
            best = max(best, 1)
        if best < wanted:
            raise no_access()

    def page(self, items: Sequence[Any], *, wrap: str = "", **more: Any) -> Answer:
        """One page, with a Link header; `wrap` puts it into an object with `total_count`."""
        size = min(100, max(1, _number(self.query.get("per_page"), 30)))
        number = max(1, _number(self.query.get("page"), 1))
        shown = list(items[(number - 1) * size : number * size])
        last = max(1, -(-len(items) // size))
        links = []
        if number < last:
            links += [self._link(number + 1, "next"), self._link(last, "last")]
        if number > 1:
            links += [self._link(number - 1, "prev"), self._link(1, "first")]
        body = {"total_count": len(items), wrap: shown, **more} if wrap else shown
        return Answer(body=body, headers={"Link": ", ".join(links)} if links else {})

    def _link(self, number: int, relation: str) -> str:
        query = urlencode({**self.query, "page": str(number)})
        return f'<{self.links.api}{self.request.path}?{query}>; rel="{relation}"'


Handler = Callable[[Call], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A path of GitHub's description, and what answers it.

    `permission` and `level` are what a token needs; "" leaves the check to the handler. `success`
    is the code of a plain answer.
    """

    method: str
    path: str
    handler: Handler
    permission: str = ""
    level: str = ""
    success: int = 200

    def match(self, path: str) -> dict[str, str] | None:
        """The parameters, if a path (still quoted) fits; names of refs and files take slashes."""
        found = _pattern(self.path).fullmatch(path)
        if found is None:
            return None
        return {name: unquote(value) for name, value in found.groupdict().items()}

    @property
    def literal(self) -> tuple[int, int]:
        """How much of the path is text: the larger, the better a fit."""
        return -self.path.count("{"), len(_PARAMETER.sub("", self.path))


_PARAMETER = re.compile(r"\{(\w+)\}")
_WITH_SLASHES = ("ref", "path", "branch", "basehead")


@functools.cache
def _pattern(path: str) -> re.Pattern[str]:
    def group(found: re.Match[str]) -> str:
        name = found.group(1)
        kind = ".*" if name == "path" else ".+" if name in _WITH_SLASHES else "[^/]+"
        return f"(?P<{name}>{kind})"

    return re.compile(_PARAMETER.sub(group, path))


def route(
    method: str, path: str, handler: Handler, rights: str = "", *, success: int = 200
) -> Route:
    """A row of the table; `rights` is `permission:level`, `path` "~" stands for a repository."""
    permission, _, level = rights.partition(":")
    return Route(
        method=method,
        path=path.replace("~", "/repos/{owner}/{repo}", 1),
        handler=handler,
        permission=permission,
        level=level,
        success=success,
    )


def number_in(call: Call, name: str) -> int:
    """A number in the path; 404 where it is none."""
    value = call.parameters[name]
    if not value.isdecimal():
        raise not_found()
    return int(value)


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() else default
