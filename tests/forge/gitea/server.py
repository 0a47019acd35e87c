"""Starts Gitea in a temporary folder, with an administrator, and speaks to it as people do."""

import base64
import getpass
import http.client
import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
SECRET_KEY = a-secret-of-a-test
PASSWORD_HASH_ALGO = pbkdf2$2$8
[indexer]
ISSUE_INDEXER_TYPE = db
[repository]
DEFAULT_BRANCH = main
[service]
DISABLE_REGISTRATION = true
[picture]
DISABLE_GRAVATAR = true
[log]
MODE = console
LEVEL = Warn
"""


@dataclass(slots=True)
class Gitea:
    """A running server. Accounts and tokens are made when they are first needed."""

    program: Path
    folder: Path
    port: int
    component: Component
    _tokens: dict[str, str] = field(default_factory=dict)
    _number: int = 0

    @property
    def web(self) -> str:
        return f"http://127.0.0.1:{self.port}"

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

    def command(self, *arguments: str) -> str:
        """The output of one of Gitea's own commands."""
        words = [
            *_alone(self.folder),
            str(self.program),
            *arguments,
            "--config",
            str(self.folder / "app.ini"),
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def token(self, account: str) -> str:
        """A token of an account with all scopes; the account is made if it does not exist."""
        if account not in self._tokens:
            if account == OWNER:
                made = self.command(
                    "admin", "user", "create", "--admin", "--username", OWNER, "--email",
                    f"{OWNER}@example.org", "--password", PASSWORD, "--must-change-password=false",
                    "--access-token", "--access-token-scopes", "all",
                )  # fmt: skip
                self._tokens[account] = re.findall(r"[0-9a-f]{40}", made)[-1]
                return self._tokens[account]
            person = {"username": account, "email": f"{account}@example.org", "password": PASSWORD}
            self.do(OWNER, "POST", "/admin/users", {**person, "must_change_password": False})
            pair = base64.b64encode(f"{account}:{PASSWORD}".encode()).decode()
            status, body = self.ask(
                "POST", f"/users/{account}/tokens", {"name": "t", "scopes": ["all"]},
                authorization=f"Basic {pair}",
            )  # fmt: skip
            assert status == 201, body
            self._tokens[account] = str(body["sha1"])
        return self._tokens[account]

    def add_repository(self, *writers: str, auto_init: bool = False) -> str:
        """`owner/name` of a new repository."""
        self._number += 1
        name = f"placement-{self._number}"
        self.do(
            OWNER, "POST", "/user/repos",
            {"name": name, "default_branch": "main", "auto_init": auto_init},
        )  # fmt: skip
        for writer in writers:
            self.token(writer)
            path = f"/repos/{OWNER}/{name}/collaborators/{writer}"
            self.do(OWNER, "PUT", path, {"permission": "write"})
        return f"{OWNER}/{name}"

    def do(self, account: str, verb: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer to an account's request. Raises AssertionError if Gitea refuses."""
        authorization = f"token {self.token(account)}"
        status, answer = self.ask(verb, path, body, authorization=authorization)
        assert status < 300, f"{verb} {path}: {status} {answer}"
        return answer

    def ask(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        authorization: str = "",
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": "application/json"}
        if authorization:
            headers["Authorization"] = authorization
        try:
            connection.request(verb, f"/api/v1{path}", json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(text) if text.strip() else None


def _alone(folder: Path) -> list[str]:
    """The start of a command with a home of its own and without the tests' settings of Git.

    Gitea writes to Git's global configuration. Git replaces that file, even a device: with
    GIT_CONFIG_GLOBAL=/dev/null, root would replace /dev/null by a file.
    """
    unset = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "XDG_CONFIG_HOME")
    return ["env", *(f"--unset={name}" for name in unset), f"HOME={folder}"]


@contextmanager
def gitea(program: Path, folder: Path) -> Iterator[Gitea]:
    """A new server, which is stopped at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    [port] = free_ports(1)
    configuration = folder / "app.ini"
    configuration.write_text(
        _CONFIGURATION.format(
            user=getpass.getuser(), folder=folder, port=port, sources=program.parent
        )
    )
    command = [*_alone(folder), str(program), "web", "--config", str(configuration)]
    component = Component("gitea", command, log=folder / "gitea.log")
    server = Gitea(program=program, folder=folder, port=port, component=component)
    try:
        server.start()
        server.token(OWNER)
        yield server
    finally:
        server.stop()
