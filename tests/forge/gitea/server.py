"""Starts Gitea in a temporary folder, with an administrator, and speaks to it as people do."""

import base64
import getpass
import http.client
import json
import re
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from gitbot.adapters.clock import SystemClock
from tests.controlplane.component import Component, free_ports

OWNER = "acme"
PASSWORD = "a long password of a test"
SECONDS_TO_START = 60
_CONFIGURATION = """\
RUN_MODE = prod
RUN_USER = {user}
WORK_PATH = {folder}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {sources}
OFFLINE_MODE = true
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db
SQLITE_JOURNAL_MODE = WAL
[security]
INSTALL_LOCK = true
INTERNAL_TOKEN = {internal}
SECRET_KEY = a-secret-of-a-test
PASSWORD_HASH_ALGO = pbkdf2$2$8
[indexer]
ISSUE_INDEXER_TYPE = db
[repository]
DEFAULT_BRANCH = main
[repository.signing]
TRUSTED_SSH_KEYS = {trusted}
[service]
DISABLE_REGISTRATION = true
[picture]
DISABLE_GRAVATAR = true
[log]
MODE = console
LEVEL = Warn
"""


@dataclass(slots=True, kw_only=True)
class Gitea:
    """A server at `web`. Accounts and tokens are made when they are first needed.

    `owner` is the login of the administrator who has the repositories, OWNER in tests.
    """

    web: str
    owner: str = OWNER
    tokens: dict[str, str] = field(default_factory=dict)
    number: int = 0  # of the newest repository

    @classmethod
    def at(cls, web: str, token: str) -> "Gitea":
        """A server that runs already, with the token of an administrator of it."""
        made = cls(web=web.rstrip("/"), tokens={OWNER: token}, number=SystemClock().now())
        made.owner = str(made.do(OWNER, "GET", "/user")["login"])
        return made

    def token(self, account: str) -> str:
        """A token of an account with all scopes; the account is made if it does not exist."""
        if account not in self.tokens:
            person = {"username": account, "email": f"{account}@example.org", "password": PASSWORD}
            self.ask(
                "POST", "/admin/users", {**person, "must_change_password": False},
                authorization=f"token {self.token(OWNER)}",
            )  # fmt: skip
            pair = base64.b64encode(f"{account}:{PASSWORD}".encode()).decode()
            wanted = {"name": f"{time.time_ns()}", "scopes": ["all"]}
            status, body = self.ask(
                "POST", f"/users/{account}/tokens", wanted, authorization=f"Basic {pair}"
            )
            assert status == 201, body
            self.tokens[account] = str(body["sha1"])
        return self.tokens[account]

    def add_repository(self, *writers: str, auto_init: bool = False) -> str:
        """`owner/name` of a new repository."""
        self.number += 1
        name = f"placement-{self.number}"
        self.do(
            OWNER, "POST", "/user/repos",
            {"name": name, "default_branch": "main", "auto_init": auto_init},
        )  # fmt: skip
        for writer in writers:
            self.token(writer)
            path = f"/repos/{self.owner}/{name}/collaborators/{writer}"
            self.do(OWNER, "PUT", path, {"permission": "write"})
        return f"{self.owner}/{name}"

    def do(self, account: str, verb: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer to an account's request. Raises AssertionError if Gitea refuses."""
        authorization = f"token {self.token(account)}"
        status, answer = self.ask(verb, path, body, authorization=authorization)
        assert status < 300, f"{verb} {path}: {status} {answer}"
        return answer

    def settle(self, repository: str) -> None:
        """Wait until the server has worked on the first push to `owner/name`."""
        while self.do(OWNER, "GET", f"/repos/{repository}")["empty"]:
            time.sleep(0.05)

    def ask(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        authorization: str = "",
    ) -> tuple[int, Any]:
        parts = urlsplit(self.web)
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(parts.netloc, timeout=30)
        headers = {"Content-Type": "application/json"}
        if authorization:
            headers["Authorization"] = authorization
        try:
            connection.request(
                verb, f"{parts.path}/api/v1{path}", json.dumps(body) if body else None, headers
            )
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(text) if text.strip() else None


@dataclass(slots=True, kw_only=True)
class OwnGitea(Gitea):
    """A server that tests start, in its own folder.

    Its configuration trusts one signing key: people prove in the browser that a key is theirs.
    """

    signing_key: str
    internal_token: str
    program: Path
    folder: Path
    component: Component

    def start(self) -> None:
        self.component.start()
        deadline = time.monotonic() + SECONDS_TO_START
        while not self._answers():
            if not self.component.running or time.monotonic() > deadline:
                raise AssertionError(f"Gitea does not start:\n{self.component.tail()}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            return self.ask("GET", "/version")[0] == 200
        except OSError:
            return False

    def stop(self) -> None:
        self.component.stop()

    def settle(self, repository: str) -> None:
        """Wait until the server has worked on all pushes.

        Gitea dismisses approvals in a goroutine of its own (services/repository/push.go) that may
        start after a later approval. Only the stacks of the server show that none is left.
        """
        super(OwnGitea, self).settle(repository)
        deadline = time.monotonic() + 60
        while self._works_on_a_push():
            assert time.monotonic() < deadline, "Gitea does not end its work on a push"
            time.sleep(0.1)

    def _works_on_a_push(self) -> bool:
        self._ask_inside("POST", "flush-queues", {"Timeout": 30_000_000_000})
        return b"AddTestPullRequestTask" in self._ask_inside("GET", "processes?stacktraces=true")

    def _ask_inside(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        request = Request(
            f"{self.web}/api/internal/manager/{path}",
            json.dumps(body).encode() if body else None,
            {
                "Content-Type": "application/json",
                "X-Gitea-Internal-Auth": f"Bearer {self.internal_token}",
            },
            method=verb,
        )
        with urlopen(request, timeout=60) as answer:
            found: bytes = answer.read()
        return found

    def add_administrator(self) -> None:
        words = [
            *_alone(self.folder), str(self.program), "admin", "user", "create", "--admin",
            "--username", OWNER, "--email", f"{OWNER}@example.org", "--password", PASSWORD,
            "--must-change-password=false", "--access-token", "--access-token-scopes", "all",
            "--config", str(self.folder / "app.ini"),
        ]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        self.tokens[OWNER] = re.findall(r"[0-9a-f]{40}", done.stdout)[-1]


def _alone(folder: Path) -> list[str]:
    """The start of a command with a home of its own and without the tests' settings of Git.

    Gitea writes to Git's global configuration. Git replaces that file, even a device: with
    GIT_CONFIG_GLOBAL=/dev/null, root would replace /dev/null by a file.
    """
    unset = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "XDG_CONFIG_HOME")
    return ["env", *(f"--unset={name}" for name in unset), f"HOME={folder}"]


@contextmanager
def gitea(program: Path, folder: Path) -> Iterator[OwnGitea]:
    """A new server, which is stopped at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    [port] = free_ports(1)
    configuration = folder / "app.ini"
    key, internal = Ed25519PrivateKey.generate(), secrets.token_hex(32)
    configuration.write_text(
        _CONFIGURATION.format(
            user=getpass.getuser(), folder=folder, port=port, sources=program.parent,
            trusted=key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode(),
            internal=internal,
        )
    )  # fmt: skip
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    command = [*_alone(folder), str(program), "web", "--config", str(configuration)]
    component = Component("gitea", command, log=folder / "gitea.log")
    web = f"http://127.0.0.1:{port}"
    server = OwnGitea(
        web=web, program=program, folder=folder, component=component, signing_key=private,
        internal_token=internal,
    )  # fmt: skip
    try:
        server.start()
        server.add_administrator()
        yield server
    finally:
        server.stop()
