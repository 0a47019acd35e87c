"""The whole service: accounts, tokens, repositories, and one request in, one answer out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitbot.errors import RepositoryError
from gitbot.ports.clock import Clock
from tests.doubles.canaries import search
from tests.doubles.github import pushes, queue
from tests.doubles.github.actions.engine import Actions
from tests.doubles.github.calls import Answer, Call, Request, Route
from tests.doubles.github.core import Core
from tests.doubles.github.faults import Fault, Trouble
from tests.doubles.github.links import Links
from tests.doubles.github.problems import Problem
from tests.doubles.github.routes import find_route
from tests.doubles.github.state import (
    ACTIONS_APP_ID,
    App,
    Installation,
    Principal,
    Repository,
    State,
)
from tests.doubles.github.storage import BareRepository
from tests.doubles.github.tokens import principal_of

NOBODY = Principal(kind="nobody")
ACTIONS_APP = App(id=ACTIONS_APP_ID, slug="github-actions", owner="github")


class Dropped(Exception):
    """The connection closes without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer, for watchers. `route` is None if nothing fits."""

    request: Request
    principal: Principal
    route: Route | None
    answer: Answer
    time: int


class GitHub(Core):
    """GitHub's state and rules. Not safe for several threads: the server takes turns.

    `folder` holds the bare repositories. Addresses in answers start with `api` and `html`; the
    server sets them to its own.
    """

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        super().__init__(folder, clock=clock)
        self.faults: list[Fault] = []
        self.journal: list[Exchange] = []
        self.watchers: list[Callable[[Exchange], None]] = []
        self._past: State | None = None
        self._answers: dict[str, Answer] = {}
        for login, kind in (
            ("github", "Organization"),
            ("ghost", "User"),
            ("web-flow", "User"),
            ("github-actions[bot]", "Bot"),
            ("github-merge-queue[bot]", "Bot"),
        ):
            self.add_account(login, kind=kind)
        self.state.apps[ACTIONS_APP.id] = copy.deepcopy(ACTIONS_APP)
        self.actions = Actions(self)
        self.hearers.append(self.actions.hear)

    # -- what a test arranges ---------------------------------------------------------------

    def add_repository(
        self, full_name: str, *, private: bool = False, branch: str = "main"
    ) -> Repository:
        """An empty repository; its owner is made where there is none."""
        owner, _, name = full_name.partition("/")
        self.add_account(owner, kind="Organization")
        git = BareRepository.create(self.folder / owner / f"{name}.git", branch=branch)
        return self._keep(full_name, git, private=private, branch=branch)

    def fork(self, full_name: str, owner: str) -> Repository:
        """A person's fork."""
        upstream = self.repository(full_name)
        self.add_account(owner)
        name = f"{owner}/{upstream.name}"
        git = upstream.git.copy_to(self.folder / owner / f"{upstream.name}.git")
        made = self._keep(name, git, private=upstream.private, branch=upstream.default_branch)
        made.parent = upstream.full_name
        made.collaborators[owner] = "admin"
        return made

    def _keep(
        self, full_name: str, git: BareRepository, *, private: bool, branch: str
    ) -> Repository:
        owner, _, name = full_name.partition("/")
        made = Repository(
            id=self.new_id(),
            owner=owner,
            name=name,
            git=git,
            created=self.clock.now(),
            private=private,
            default_branch=branch,
        )
        made.refs = git.refs()
        self.state.repositories[full_name.lower()] = made
        return made

    def add_collaborator(self, full_name: str, login: str, role: str = "write") -> None:
        """Give a person a role: read, triage, write, maintain or admin."""
        self.add_account(login)
        self.repository(full_name).collaborators[login] = role

    def add_team(self, team: str, *members: str) -> None:
        """Set the members of `org/slug`; their rights come from the repository."""
        self.add_account(team.partition("/")[0], kind="Organization")
        for login in members:
            self.add_account(login)
        self.state.teams[team.lower()] = members

    def remove_team(self, team: str) -> None:
        """Delete a team; GitHub answers 404 from then on."""
        del self.state.teams[team.lower()]

    def add_app(
        self, slug: str, *, owner: str, public_key: str, permissions: Mapping[str, str]
    ) -> App:
        """Register an App; `public_key` is PEM."""
        self.add_account(owner)
        self.add_account(f"{slug}[bot]", kind="Bot")
        made = App(
            id=self.new_id(),
            slug=slug,
            owner=owner,
            public_key=public_key,
            permissions=dict(permissions),
        )
        self.state.apps[made.id] = made
        return made

    def install(self, app: App, account: str, *repositories: str) -> Installation:
        """Install an App on an account, for the named repositories or for all."""
        made = Installation(
            id=self.new_id(), app_id=app.id, account=account, repositories=repositories
        )
        self.state.installations[made.id] = made
        return made

    def personal_token(self, login: str, *, expires: int = 0) -> str:
        """A personal access token of a person."""
        self.add_account(login)
        return self.new_token("ghp", Principal(kind="user", login=login, expires=expires))

    def job_token(
        self, full_name: str, permissions: Mapping[str, str], *, run_id: int = 0, hours: int = 6
    ) -> str:
        """The GITHUB_TOKEN of a job with these permissions."""
        principal = Principal(
            kind="job",
            login="github-actions[bot]",
            permissions=tuple(sorted({"metadata": "read", **permissions}.items())),
            expires=self.clock.now() + hours * 3600,
            repository=self.repository(full_name).full_name,
            app_id=ACTIONS_APP.id,
            run_id=run_id,
        )
        return self.new_token("ghs", principal)

    # -- one request --------------------------------------------------------------------------

    def ask(self, token: str, method: str, path: str, body: Any = None, **query: str) -> Answer:
        """One request without HTTP, as a test's own hand; troubles do not touch it."""
        request = Request(method=method, path=path, query=query, body=body, token=token)
        pushes.notice(self)
        answer, route, principal = self._answer(request, self.state, self.links)
        self._watched(request, answer, route, principal)
        return answer

    def handle(self, request: Request, links: Links) -> Answer:
        """One request from outside. Raises Dropped where the connection shall close."""
        search(f"{request.method} {request.path}", [request.path, request.query, request.body])
        pushes.notice(self)
        fault = next((f for f in self.faults if f.takes(request.method, request.path)), None)
        if fault is not None:
            early = _early(fault, self.clock.now())
            if early is not None:
                self.journal.append(self._watched(request, early, None, NOBODY))
                return early
        stale = fault is not None and fault.trouble is Trouble.STALE and self._past is not None
        reads = request.method in ("GET", "HEAD")
        before = None if reads else self._view()
        answer, route, principal = self._answer(
            request, self._past if stale and self._past is not None else self.state, links
        )
        if before is not None and answer.code < 400:
            self._past = before
        self.journal.append(self._watched(request, answer, route, principal))
        return answer if fault is None else _late(fault, answer)

    def _view(self) -> State | None:
        wanted = any(f.trouble is Trouble.STALE and f.times > 0 for f in self.faults)
        return copy.deepcopy(self.state) if wanted else None

    def _answer(
        self, request: Request, state: State, links: Links
    ) -> tuple[Answer, Route | None, Principal]:
        now = self.clock.now()
        route: Route | None = None
        principal = NOBODY
        try:
            principal = principal_of(self.state, request.token, now)
            limited = self._count(request, now)
            route, parameters = find_route(request.method, request.path)
            call = Call(
                github=self,
                actions=self.actions,
                state=state,
                request=request,
                principal=principal,
                parameters=parameters,
                links=links,
                now=now,
            )
            if route.permission:
                call.needs(call.repository, route.permission, route.level)
            result = route.handler(call)
        except Problem as problem:
            return (
                Answer(code=problem.code, body=problem.body, headers=problem.headers),
                route,
                principal,
            )
        except RepositoryError as failure:
            return Answer(code=500, body={"message": f"git: {failure}"}), route, principal
        if request.method != "GET" and "owner" in parameters:
            queue.settle(self, call.repository)
        answer = result if isinstance(result, Answer) else Answer(code=route.success, body=result)
        return replace(answer, headers={**limited, **answer.headers}), route, principal

    def _count(self, request: Request, now: int) -> dict[str, str]:
        """Asking for the limit is free."""
        if request.path == "/rate_limit":
            return {}
        return self.limits.take(request.token or "anonymous", now)

    def _watched(
        self, request: Request, answer: Answer, route: Route | None, principal: Principal
    ) -> Exchange:
        exchange = Exchange(
            request=request, principal=principal, route=route, answer=answer, time=self.clock.now()
        )
        for watcher in self.watchers:
            watcher(exchange)
        return exchange


def _early(fault: Fault, now: int) -> Answer | None:
    match fault.trouble:
        case Trouble.REFUSE:
            return Answer(code=fault.status, body={"message": "Server Error"})
        case Trouble.DROP:
            raise Dropped
        case Trouble.SECONDARY:
            message = "You have exceeded a secondary rate limit. Please wait a few minutes."
            problem = Problem(403, message)
            return Answer(
                code=403, body=problem.body, headers={"Retry-After": str(fault.retry_after)}
            )
        case Trouble.PRIMARY:
            problem = Problem(403, "API rate limit exceeded for user ID 1.")
            headers = {
                "X-RateLimit-Limit": "5000",
                "X-RateLimit-Remaining": "0",
                "X-RateLimit-Reset": str(now + fault.retry_after),
                "X-RateLimit-Resource": "core",
            }
            return Answer(code=403, body=problem.body, headers=headers)
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
