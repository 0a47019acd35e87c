"""One request as the routes see it, and what they answer."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote, urlencode

from tests.doubles.github.core import Core
from tests.doubles.github.problems import Problem, not_found
from tests.doubles.github.state import JSON, Principal, Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A decoded request; `path` is below `root`, the API's address, without the query."""

    method: str
    path: str
    root: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    token: str = ""


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


Value = TypeVar("Value")


@dataclass(slots=True, kw_only=True)
class Call:
    """One request on its way through a route."""

    github: Core
    request: Request
    principal: Principal
    parameters: Mapping[str, str]

    @property
    def body(self) -> JSON:
        """The JSON object that came; empty if none did."""
        return self.request.body or {}

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def now(self) -> int:
        return self.github.clock.now()

    @property
    def repository(self) -> Repository:
        """The repository of the path; 404 if there is none."""
        name = f"{self.parameters['owner']}/{self.parameters['repo']}".lower()
        if name not in self.github.state.repositories:
            raise not_found()
        return self.github.state.repositories[name]

    def needs(self, permission: str, level: str) -> None:
        """Raises Problem unless the token may do this on the repository of the path."""
        refusal = self.github.refusal(self.principal, self.repository, permission, level)
        if refusal is not None:
            raise refusal

    def one_of(self, known: Mapping[Any, Value], name: str) -> Value:
        """What a number or name in the path stands for; 404 if there is none."""
        value = self.parameters[name]
        key = int(value) if value.isdecimal() else value
        if key not in known:
            raise not_found()
        return known[key]

    def page(self, items: Sequence[Any], *, wrap: str = "") -> Answer:
        """One page, with a Link header; `wrap` puts it into an object with `total_count`."""
        size = min(100, int(self.query.get("per_page", 30)))
        number = int(self.query.get("page", 1))
        shown = list(items[(number - 1) * size : number * size])
        headers = {}
        if number * size < len(items):
            query = urlencode({**self.query, "page": number + 1})
            next_page = f"{self.request.root}{self.request.path}?{query}"
            headers["Link"] = f'<{next_page}>; rel="next"'
        body = {"total_count": len(items), wrap: shown} if wrap else shown
        return Answer(body=body, headers=headers)


Handler = Callable[[Call], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A path of GitHub's description, and what answers it.

    `permission` and `level` are what a token needs; "" leaves the check to the handler. `success`
    is the code of a plain answer.
    """

    method: str
    path: str
    pattern: re.Pattern[str]
    handler: Handler
    permission: str
    level: str
    success: int


ROUTES: list[Route] = []
_PARAMETER = re.compile(r"\{(\w+)\}")


def route(
    method: str, path: str, rights: str = "", *, success: int = 200
) -> Callable[[Handler], Handler]:
    """Give a path to a function; `rights` is `permission:level`, "~" stands for a repository."""
    full = path.replace("~", "/repos/{owner}/{repo}", 1)
    permission, _, level = rights.partition(":")

    def add(handler: Handler) -> Handler:
        made = Route(
            method=method,
            path=full,
            pattern=re.compile(_PARAMETER.sub(r"(?P<\1>[^/]+)", full)),
            handler=handler,
            permission=permission,
            level=level,
            success=success,
        )
        ROUTES.append(made)
        return handler

    return add


def find_route(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The row that fits, and its parameters. Raises Problem: 501 for what the double lacks."""
    for row in ROUTES:
        found = row.pattern.fullmatch(path)
        if found is not None and row.method == method:
            return row, {name: unquote(value) for name, value in found.groupdict().items()}
    raise Problem(501, f"the GitHub double knows no such operation: {method} {path}")
