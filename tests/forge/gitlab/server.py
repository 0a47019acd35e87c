"""Speaks to a GitLab that runs already, as its administrator: accounts, tokens, projects."""

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.adapters.clock import SystemClock
from gitbot.model.text.instants import format_instant

DAY = 86_400
MAINTAINER = 40  # may push to a base branch that GitLab protects by itself
PASSWORD = "a long password of a test, 7261"


@dataclass(slots=True, kw_only=True)
class RunningGitLab:
    """A server at `web`, with a token of an administrator (scope api)."""

    web: str
    administrator: str = field(repr=False)
    tokens: dict[str, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    number: int = 0  # of the newest project

    def token(self, account: str) -> str:
        """A token of an account with the scope api; the account is made if it does not exist."""
        if account not in self.tokens:
            tomorrow = format_instant(SystemClock().now() + 2 * DAY)[:10]
            wanted = {"name": "contract", "scopes": ["api"], "expires_at": tomorrow}
            path = f"/users/{self._account(account)}/impersonation_tokens"
            self.tokens[account] = str(self.do("POST", path, wanted)["token"])
        return self.tokens[account]

    def _account(self, name: str) -> int:
        if name not in self.ids:
            same = self.do("GET", f"/users?username={name}")
            person = {"username": name, "name": name, "email": f"{name}@example.org"}
            secret = {"password": PASSWORD, "skip_confirmation": True}
            found = same[0] if same else self.do("POST", "/users", {**person, **secret})
            self.ids[name] = int(found["id"])
        return self.ids[name]

    def add_project(self, *writers: str) -> str:
        """`group/project` of a new project without a commit."""
        self.number = self.number or SystemClock().now()
        self.number += 1
        made = self.do("POST", "/projects", {"name": f"placement-{self.number}"})
        path = str(made["path_with_namespace"])
        for writer in writers:
            member = {"user_id": self._account(writer), "access_level": MAINTAINER}
            self.do("POST", f"/projects/{urllib.parse.quote(path, safe='')}/members", member)
        return path

    def do(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer to the administrator. Raises HTTPError if GitLab refuses."""
        request = urllib.request.Request(
            f"{self.web}/api/v4{path}",
            method=verb,
            data=None if body is None else json.dumps(body).encode(),
            headers={"PRIVATE-TOKEN": self.administrator, "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())
