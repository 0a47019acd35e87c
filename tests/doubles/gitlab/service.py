"""GitLab as a program: accounts, tokens, projects, and one request at a time."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlencode

from gitbot.ports.clock import Clock
from tests.doubles.canaries import plant, search
from tests.doubles.github.calls import Answer
from tests.doubles.github.faults import Fault, Trouble
from tests.doubles.github.service import Dropped
from tests.doubles.github.storage import BareRepository
from tests.doubles.gitlab import merging
from tests.doubles.gitlab.state import JSON, Problem, Project, User, time_text

LIMIT = 2_000  # requests a minute


class GitLab:
    """One GitLab. `faults` happen to the requests that they name; `seen` are those that came."""

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self.folder = folder
        self.clock = clock
        self.users: dict[str, User] = {}
        self.groups: dict[str, list[str]] = {}
        self.tokens: dict[str, str] = {}
        self.projects: dict[str, Project] = {}
        self.faults: list[Fault] = []
        self.seen: list[str] = []
        self._last = 100

    def new_id(self) -> int:
        self._last += 1
        return self._last

    def add_user(self, name: str) -> User:
        return self.users.setdefault(name, User(id=self.new_id(), username=name))

    def add_project(self, path: str, **settings: Any) -> Project:
        """A project with an empty repository."""
        git = BareRepository.create(self.folder / f"{path}.git")
        made = Project(id=self.new_id(), path=path, git=git, **settings)
        self.projects[path] = made
        return made

    def add_member(self, path: str, name: str, level: int) -> None:
        self.add_user(name)
        self.projects[path].members[name] = level

    def token(self, name: str) -> str:
        """A personal access token that is hard to guess, and the same in every run."""
        self.add_user(name)
        token = f"glpat-{hashlib.sha256(f'gitlab {name}'.encode()).hexdigest()[:20]}"
        self.tokens[token] = name
        return plant(token)

    def handle(self, request: "Request") -> Answer:
        """One request from outside. Raises Dropped if the connection must close."""
        search(f"{request.method} {request.path}", [request.path, request.query, request.body])
        self.seen.append(f"{request.method} {request.path}")
        fault = next((f for f in self.faults if f.takes(request.method, request.path)), None)
        if fault is not None and fault.trouble is Trouble.DROP:
            raise Dropped
        if fault is not None and fault.trouble is Trouble.SECONDARY:
            headers = {"Retry-After": str(fault.retry_after), "RateLimit-Remaining": "0"}
            return Answer(code=429, body="Retry later\n", headers=headers)
        if fault is not None and fault.trouble is Trouble.REFUSE:
            return Answer(code=fault.status, body={"message": "500 Internal Server Error"})
        answer = self._answer(request)
        if fault is not None and fault.trouble is Trouble.DROP_AFTER:
            raise Dropped
        if fault is not None and fault.trouble is Trouble.LOSE:
            return Answer(code=fault.status, body="<html>")
        return answer

    def ask(self, name: str, method: str, path: str, body: Any = None, **query: str) -> Any:
        """The JSON of a test's own request, which must be good; no fault applies to it."""
        token = self.token(name)
        answer = self._answer(
            Request(method=method, path=path, query=query, body=body, token=token)
        )
        assert answer.code < 400, answer
        return answer.body

    def _answer(self, request: "Request") -> Answer:
        for project in self.projects.values():
            merging.notice(project, self.clock.now())
        try:
            if request.token not in self.tokens:
                raise Problem(401, "401 Unauthorized")
            call = self._call(request)
            result = call.handler(call)
        except Problem as problem:
            return Answer(code=problem.code, body=problem.body)
        answer = result if isinstance(result, Answer) else Answer(body=result)
        if not isinstance(result, Answer) and request.method == "POST":
            answer = replace(answer, code=201)
        limits = {"RateLimit-Limit": str(LIMIT), "RateLimit-Remaining": str(LIMIT - 1)}
        reset = {"RateLimit-Reset": str(self.clock.now() + 60)}
        return replace(answer, headers={**limits, **reset, **answer.headers})

    def _call(self, request: "Request") -> "Call":
        for method, pattern, handler in ROUTES:
            found = pattern.fullmatch(request.path)
            if found is not None and method == request.method:
                parameters = {key: unquote(value) for key, value in found.groupdict().items()}
                return Call(gitlab=self, request=request, handler=handler, parameters=parameters)
        raise Problem(501, f"the GitLab double knows no such operation: {request.path}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A decoded request; `path` is below the API's root, still encoded, without the query."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    token: str = ""


@dataclass(slots=True, kw_only=True)
class Call:
    """One request on its way to its handler."""

    gitlab: GitLab
    request: Request
    handler: "Handler"
    parameters: Mapping[str, str]

    @property
    def body(self) -> JSON:
        return self.request.body or {}

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def now(self) -> int:
        return self.gitlab.clock.now()

    @property
    def by(self) -> User:
        return self.gitlab.users[self.gitlab.tokens[self.request.token]]

    @property
    def project(self) -> Project:
        """The project of the path: 404 for one that the account may not see."""
        found = self.gitlab.projects.get(self.parameters["id"])
        if found is None or self.by.username not in found.members:
            raise Problem(404, "404 Project Not Found")
        return found

    def needs(self, level: int) -> None:
        if self.project.members[self.by.username] < level:
            raise Problem(403, "403 Forbidden")

    def one_of(self, known: Mapping[int, Any], name: str, title: str = "") -> Any:
        number = int(self.parameters[name])
        if number not in known:
            raise Problem(404, f"404 {title}Not found")
        return known[number]

    def page(self, items: Sequence[Any]) -> Answer:
        """One page, with the headers of offset pagination."""
        size = min(100, int(self.query.get("per_page", 20)))
        number = int(self.query.get("page", 1))
        more = number * size < len(items)
        headers = {"X-Total": str(len(items)), "X-Next-Page": str(number + 1) if more else ""}
        if more:
            query = urlencode({**self.query, "id": self.parameters["id"], "page": number + 1})
            address = f"http://localhost/api/v4{self.request.path}?{query}"
            headers["Link"] = f'<{address}>; rel="next"'
        return Answer(body=items[(number - 1) * size : number * size], headers=headers)


Handler = Callable[[Call], Any]
H = TypeVar("H", bound=Handler)
ROUTES: list[tuple[str, re.Pattern[str], Handler]] = []


def route(method: str, path: str) -> Callable[[H], H]:
    """Give a path to a function; "~" stands for a project."""
    pattern = re.sub(r":(\w+)", r"(?P<\1>[^/]+)", path.replace("~", "/projects/:id", 1))

    def add(handler: H) -> H:
        ROUTES.append((method, re.compile(pattern), handler))
        return handler

    return add


@route("GET", "/user")
def _user(call: Call) -> JSON:
    return call.by.shown


@route("GET", "/users")
def _users(call: Call) -> list[JSON]:
    wanted = call.query["username"].lower()
    return [user.shown for user in call.gitlab.users.values() if user.username.lower() == wanted]


@route("GET", "/version")
def _version(_call: Call) -> JSON:
    return {"version": "18.6.0", "revision": "0"}


@route("GET", "/personal_access_tokens/self")
def _token(_call: Call) -> JSON:
    return {"scopes": ["api"], "active": True}


@route("GET", "/groups/:id/members")
def _group(call: Call) -> Answer:
    names = call.gitlab.groups.get(call.parameters["id"])
    if names is None:
        raise Problem(404, "404 Group Not Found")
    return call.page([call.gitlab.users[name].shown for name in names])


@route("GET", "~")
def _project(call: Call) -> JSON:
    return call.project.shown


@route("GET", "~/members/all/:user")
def _member(call: Call) -> JSON:
    known = {user.id: user for user in call.gitlab.users.values()}
    user = call.one_of(known, "user")
    if user.username not in call.project.members:
        raise Problem(404, "404 Not found")
    return {**user.shown, "access_level": call.project.members[user.username]}


@route("GET", "~/events")
def _events(call: Call) -> Answer:
    return call.page(call.project.events)


@route("GET", "~/approval_rules")
def _rules(call: Call) -> Answer:
    if call.project.approval_rules is None:
        raise Problem(404, "404 Not Found")
    rule = {"id": 1, "name": "All", "approvals_required": call.project.approval_rules}
    return call.page([{**rule, "rule_type": "any_approver", "protected_branches": []}])


@route("GET", "~/repository/branches/:branch")
def _branch(call: Call) -> JSON:
    name = call.parameters["branch"]
    commit = call.project.git.refs().get(f"refs/heads/{name}")
    if commit is None:
        raise Problem(404, "404 Branch Not Found")
    protected = name in call.project.protected
    may = not protected and call.project.members[call.by.username] >= 30
    return {"name": name, "commit": {"id": commit}, "protected": protected, "can_push": may}


@route("GET", "~/repository/commits/:sha")
def _commit(call: Call) -> JSON:
    commit = call.project.git.resolve(call.parameters["sha"])
    if commit is None:
        raise Problem(404, "404 Commit Not Found")
    return {"id": commit, "committed_date": time_text(1)}


@route("GET", "~/repository/commits/:sha/signature")
def _signature(_call: Call) -> JSON:
    raise Problem(404, "404 Signature Not Found")


# What an administrator prepares a server with


@route("POST", "/users")
def _add_user(call: Call) -> JSON:
    return call.gitlab.add_user(str(call.body["username"])).shown


@route("POST", "/users/:user/impersonation_tokens")
def _impersonate(call: Call) -> JSON:
    known = {user.id: user for user in call.gitlab.users.values()}
    return {"token": call.gitlab.token(call.one_of(known, "user").username)}


@route("POST", "/projects")
def _add_project(call: Call) -> JSON:
    path = f"{call.by.username}/{call.body['name']}"
    made = call.gitlab.add_project(path, members={call.by.username: 50})
    return made.shown


@route("POST", "~/members")
def _add_member(call: Call) -> JSON:
    known = {user.id: user.username for user in call.gitlab.users.values()}
    name = known[int(call.body["user_id"])]
    call.gitlab.add_member(call.project.path, name, int(call.body["access_level"]))
    return {"access_level": call.body["access_level"]}
