"""The whole service: accounts, tokens, repositories, and one request in, one answer out."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitbot.ports.clock import Clock
from tests.doubles.canaries import search
from tests.doubles.github import merging, queue
from tests.doubles.github.actions import Actions
from tests.doubles.github.calls import Answer, Call, Request, Route
from tests.doubles.github.core import HOUR, Core, limited
from tests.doubles.github.faults import Fault, Trouble
from tests.doubles.github.problems import Problem
from tests.doubles.github.routes import find_route
from tests.doubles.github.state import ACTIONS_APP_ID, App, Principal, Repository, State
from tests.doubles.github.storage import BareRepository


class Dropped(Exception):
    """The connection closes without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer. `route` is None if no route fits."""

    request: Request
    route: Route | None
    answer: Answer


WATCHERS: list[Callable[[Exchange], object]] = []
"""They see every exchange of every service."""


class GitHub(Core):
    """GitHub's state and rules. Not safe for several threads: the server takes turns.

    `folder` holds the bare repositories.
    """

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        super().__init__(folder, clock=clock)
        self.faults: list[Fault] = []
        self.journal: list[Exchange] = []
        self._past: State | None = None
        for login, kind in (
            ("ghost", "User"),
            ("github-actions[bot]", "Bot"),
            (queue.QUEUE.login, "Bot"),
        ):
            self.add_account(login, kind=kind)
        self.state.apps[ACTIONS_APP_ID] = App(id=ACTIONS_APP_ID, slug="github-actions")
        self.actions = Actions(self)
        self.hear = self.actions.hear

    # -- what a test arranges ---------------------------------------------------------------

    def add_repository(self, full_name: str) -> Repository:
        """An empty public repository; its owner is made if there is none."""
        owner, _, name = full_name.partition("/")
        self.add_account(owner, kind="Organization")
        git = BareRepository.create(self.folder / owner / f"{name}.git")
        return self._keep(Repository(id=self.new_id(), owner=owner, name=name, git=git))

    def fork(self, full_name: str, owner: str) -> Repository:
        """A person's fork."""
        parent = self.repository(full_name)
        self.add_account(owner)
        git = parent.git.copy_to(self.folder / owner / f"{parent.name}.git")
        made = Repository(
            id=self.new_id(), owner=owner, name=parent.name, git=git, parent=parent.full_name
        )
        return self._keep(made)

    def _keep(self, made: Repository) -> Repository:
        made.refs = made.git.refs()
        self.state.repositories[made.full_name.lower()] = made
        return made

    def add_collaborator(self, full_name: str, login: str, role: str = "write") -> None:
        """Give a person a role: read, triage, write, maintain or admin."""
        self.add_account(login)
        self.repository(full_name).collaborators[login] = role

    def set_team(self, team: str, *members: str) -> None:
        """Set the members of `org/slug`; without any, the team is gone (404)."""
        for login in members:
            self.add_account(login)
        self.state.teams[team.lower()] = members

    def add_app(
        self, slug: str, *, public_key: str, permissions: Mapping[str, str], repository: str
    ) -> App:
        """Register an App, and install it on a repository; `public_key` is PEM."""
        self.add_account(f"{slug}[bot]", kind="Bot")
        made = App(
            id=self.new_id(),
            slug=slug,
            permissions=permissions,
            public_key=public_key,
            repository=repository,
        )
        self.state.apps[made.id] = made
        return made

    def personal_token(self, login: str) -> str:
        """A personal access token of a person."""
        self.add_account(login)
        return self.new_token("ghp", Principal(kind="user", login=login))

    def job_token(self, full_name: str, permissions: Mapping[str, str], *, hours: int = 6) -> str:
        """The GITHUB_TOKEN of a job with these permissions."""
        principal = Principal(
            kind="job",
            login="github-actions[bot]",
            permissions={"metadata": "read", **permissions},
            expires=self.clock.now() + hours * HOUR,
            repository=full_name,
            app_id=ACTIONS_APP_ID,
        )
        return self.new_token("ghs", principal)

    # -- one request --------------------------------------------------------------------------

    def ask(self, token: str, method: str, path: str, body: Any = None, **query: str) -> Answer:
        """One request of the test itself, without HTTP; no fault applies to it."""
        request = Request(method=method, path=path, query=query, body=body, token=token)
        merging.notice(self)
        return self._answer(request).answer

    def handle(self, request: Request) -> Answer:
        """One request from outside. Raises Dropped if the connection must close."""
        search(f"{request.method} {request.path}", [request.path, request.query, request.body])
        merging.notice(self)
        fault = next((f for f in self.faults if f.takes(request.method, request.path)), None)
        early = fault and _early(fault, self.clock.now())
        if early:
            self.journal.append(_watched(Exchange(request=request, route=None, answer=early)))
            return early
        before = None if request.method == "GET" else self._view()
        exchange = self._seen(request, fault)
        if before is not None and exchange.answer.code < 400:
            self._past = before
        self.journal.append(exchange)
        return exchange.answer if fault is None else _late(fault, exchange.answer)

    def _view(self) -> State | None:
        wanted = any(f.trouble is Trouble.STALE and f.times > 0 for f in self.faults)
        return copy.deepcopy(self.state) if wanted else None

    def _seen(self, request: Request, fault: Fault | None) -> Exchange:
        """The exchange; a stale read gets the state before the newest write."""
        stale = fault is not None and fault.trouble is Trouble.STALE
        if not stale or self._past is None:
            return self._answer(request)
        present, self.state = self.state, self._past
        try:
            return self._answer(request)
        finally:
            self.state = present

    def _answer(self, request: Request) -> Exchange:
        route: Route | None = None
        try:
            principal = self.principal_of(request.token)
            counted = self.limits.take(request.token, self.clock.now())
            route, parameters = find_route(request.method, request.path)
            call = Call(github=self, request=request, principal=principal, parameters=parameters)
            if route.permission:
                call.needs(route.permission, route.level)
            result = route.handler(call)
            if request.method != "GET" and "owner" in parameters:
                queue.settle(self, call.repository)
            answer = result if isinstance(result, Answer) else Answer(body=result)
            code = answer.code if isinstance(result, Answer) else route.success
            answer = replace(answer, code=code, headers={**counted, **answer.headers})
        except Problem as problem:
            answer = Answer(code=problem.code, body=problem.body)
        return _watched(Exchange(request=request, route=route, answer=answer))


def _watched(exchange: Exchange) -> Exchange:
    for watcher in WATCHERS:
        watcher(exchange)
    return exchange


def _early(fault: Fault, now: int) -> Answer | None:
    match fault.trouble:
        case Trouble.REFUSE:
            return Answer(code=fault.status, body={"message": "Server Error"})
        case Trouble.DROP:
            raise Dropped
        case Trouble.SECONDARY:
            said = "You have exceeded a secondary rate limit. Please wait a few minutes."
            headers = {"Retry-After": str(fault.retry_after)}
            return Answer(code=403, body=Problem(403, said).body, headers=headers)
        case Trouble.PRIMARY:
            headers = limited(0, now + fault.retry_after)
            said = "API rate limit exceeded for user ID 1."
            return Answer(code=403, body=Problem(403, said).body, headers=headers)
    return None


def _late(fault: Fault, answer: Answer) -> Answer:
    match fault.trouble:
        case Trouble.LOSE:
            return Answer(code=fault.status, body={"message": "Server Error"})
        case Trouble.DROP_AFTER:
            raise Dropped
        case Trouble.NO_JSON:
            text = answer.text()
            return replace(answer, body=text[: len(text) // 2])
    return answer
