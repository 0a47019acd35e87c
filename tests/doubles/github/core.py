"""What every rule of the double works on: the clock, the state, the limit, who may do what."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gitbot.ports.clock import Clock
from tests.doubles.canaries import plant
from tests.doubles.github.problems import Problem, no_access
from tests.doubles.github.state import JSON, ROLES, App, Principal, Repository, State
from tests.doubles.github.storage import BASE

HOUR = 3600
LIMIT = 5000  # requests an hour
LEVELS = ("none", "read", "write", "admin")
_LEEWAY = 60  # seconds that a JSON Web Token may come from the future
_LONGEST = 600  # GitHub refuses an `exp` more than 10 minutes ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened. `sha` and `ref` are what a workflow that it starts would see.

    `fork` says that the code comes from a fork.
    """

    name: str  # push, pull_request, issue_comment, merge_group, workflow_dispatch ...
    repository: Repository
    by: Principal
    sha: str
    ref: str
    fork: bool
    payload: JSON


@dataclass(slots=True, kw_only=True)
class Limits:
    """Counts requests for the headers. `used` has their number and the hour's end, by token."""

    used: dict[str, tuple[int, int]] = field(default_factory=dict)

    def take(self, token: str, now: int) -> dict[str, str]:
        """Count one request; returns the headers of its answer."""
        used, reset = self.used.get(token, (0, 0))
        used, reset = (used, reset) if now < reset else (0, now + HOUR)
        self.used[token] = (used + 1, reset)
        return limited(LIMIT - used - 1, reset)

    def give_back(self, token: str) -> None:
        """A conditional request that is answered with 304 is not counted."""
        used, reset = self.used[token]
        self.used[token] = (used - 1, reset)


def limited(left: int, reset: int) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(LIMIT),
        "X-RateLimit-Remaining": str(left),
        "X-RateLimit-Reset": str(reset),
        "X-RateLimit-Resource": "core",
    }


class Core:
    """GitHub without its rules: they work on it, and it knows none of them.

    `hear` gets every event. Addresses of pages start with `html`.
    """

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self.folder = folder
        self.clock = clock
        self.html = "http://localhost"
        self.state = State()
        self.limits = Limits()
        self.signing_keys: dict[str, str] = {}  # public keys, and the addresses of their accounts
        self.hear: Callable[[Event], object] = lambda _: None

    def new_id(self) -> int:
        """A number that nothing else has."""
        self.state.last_id += 1
        return self.state.last_id

    def publish(
        self,
        name: str,
        repository: Repository,
        by: Principal,
        payload: JSON,
        *,
        sha: str = "",
        ref: str = BASE,
        fork: bool = False,
    ) -> None:
        """Give an event to the workflows; without `sha` and `ref` it is about the base branch."""
        about = sha or repository.git.refs()[ref]
        self.hear(
            Event(
                name=name, repository=repository, by=by, payload=payload,
                sha=about, ref=ref, fork=fork,
            )
        )  # fmt: skip

    def add_account(self, login: str, *, kind: str = "User") -> None:
        """A person, Organization or Bot."""
        self.state.accounts.setdefault(login, {"login": login, "id": self.new_id(), "type": kind})

    def repository(self, full_name: str) -> Repository:
        return self.state.repositories[full_name.lower()]

    def new_token(self, prefix: str, principal: Principal) -> str:
        """A token that is hard to guess, and the same in every run."""
        seed = f"{prefix} {self.new_id()} {principal.login}"
        token = f"{prefix}_{hashlib.sha256(seed.encode()).hexdigest()[:36]}"
        self.state.tokens[token] = principal
        return plant(token)

    def app_token(self, app: App) -> str:
        """A token for an hour, with all the rights of an App on its repository."""
        principal = Principal(
            kind="installation",
            login=f"{app.slug}[bot]",
            permissions={"metadata": "read", **app.permissions},
            expires=self.clock.now() + HOUR,
            repository=app.repository,
            app_id=app.id,
        )
        return self.new_token("ghs", principal)

    def principal_of(self, token: str) -> Principal:
        """Raises Problem (401) for an unknown or expired token, or a wrong JSON Web Token."""
        if not token:
            return Principal(kind="nobody")
        known = self.state.tokens.get(token)
        if known is None and token.count(".") == 2:
            return self._app_of(token)
        if known is None or (known.expires and self.clock.now() >= known.expires):
            raise Problem(401, "Bad credentials")
        return known

    def _app_of(self, token: str) -> Principal:
        import jwt  # noqa: PLC0415 - brings a cryptography library along

        now = self.clock.now()
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
            app = self.state.apps[int(claims["iss"])]
            jwt.api_jws.decode(token, app.public_key, algorithms=["RS256"])
            issued, expires = int(claims["iat"]), int(claims["exp"])
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            raise Problem(401, "A JSON web token could not be decoded") from None
        if not now < expires <= now + _LONGEST + _LEEWAY:
            raise Problem(401, "'Expiration time' claim ('exp') is past or too far in the future")
        if issued > now + _LEEWAY:
            raise Problem(401, "'Issued at' claim ('iat') must be an Integer in the past")
        return Principal(kind="app", login=f"{app.slug}[bot]", app_id=app.id)

    def role(self, repository: Repository, login: str) -> str:
        """The role of an account; the owner is admin, and every account may read."""
        return "admin" if login == repository.owner else repository.collaborators.get(login, "read")

    def at_least(self, repository: Repository, login: str, role: str) -> bool:
        return ROLES.index(self.role(repository, login)) >= ROLES.index(role)

    def refusal(
        self, by: Principal, repository: Repository, permission: str, level: str
    ) -> Problem | None:
        """Why a token may not do this; None if it may.

        `permission` is one of GitHub's App permissions, or several that each suffice ("issues |
        pull_requests"). A personal token needs its owner's role instead.
        """
        match by.kind:
            case "user":
                administration = permission == "administration"
                if self.at_least(repository, by.login, "admin" if administration else level):
                    return None
                rights = "admin rights" if administration else "push access"
                return Problem(403, f"Must have {rights} to Repository.")
            case "job" | "installation" if by.repository == repository.full_name:
                held = [by.permissions.get(name, "none") for name in permission.split(" | ")]
                best = max(map(LEVELS.index, held))
                return None if best >= LEVELS.index(level) else no_access()
            case "job" if level == "read":
                return None
            case "job" | "installation":
                return no_access()
            case "app":
                return Problem(401, "A JSON web token could not be decoded")
        return None if level == "read" else Problem(401, "Requires authentication")
