"""A little GitHub for tests: acme/placement with alice and bob, and Git clients of theirs."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.github.server import Server
from tests.doubles.github.service import GitHub

REPOSITORY = "acme/placement"
START = 1_795_273_200  # 2026-11-21T15:00:00Z


@dataclass(slots=True)
class StepClock:
    """A clock that moves when it is told to."""

    present: int = START

    def now(self) -> int:
        return self.present

    def sleep(self, seconds: int) -> None:
        self.present += seconds


@dataclass(slots=True)
class Scene:
    """The service, the server in front of it, and the tokens of the people."""

    github: GitHub
    server: Server
    clock: StepClock
    folder: Path
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path, *, tls: ssl.SSLContext | None = None) -> Scene:
        clock = StepClock()
        github = GitHub(folder / "service", clock=clock)
        github.add_repository(REPOSITORY)
        scene = cls(github=github, server=Server(github, tls=tls), clock=clock, folder=folder)
        for login, role in (("alice", "write"), ("bob", "write"), ("rita", "read")):
            github.add_collaborator(REPOSITORY, login, role)
            scene.tokens[login] = github.personal_token(login)
        scene.commit("main", {"README.md": "hello\n"})
        return scene

    def commit(self, branch: str, files: Mapping[str, str]) -> str:
        """A commit straight into the folder on disk, as somebody's push would leave it."""
        git = self.github.repository(REPOSITORY).git
        parent = git.resolve(branch) or git.resolve("main")
        sha = git.write_commit(
            git.write_tree(parent, {path: text.encode() for path, text in files.items()}),
            parents=(parent,) if parent else (),
            message=f"change {branch}",
            name="somebody",
            email="somebody@example.org",
            time=self.clock.now(),
        )
        git.set_ref(f"refs/heads/{branch}", sha)
        return sha

    def ask(self, login: str, method: str, path: str, body: Any = None, **query: str) -> Any:
        """The JSON of an answer that must be good; `~` stands for the repository."""
        answer = self.answer(login, method, path, body, **query)
        assert answer[0] < 400, answer
        return answer[1]

    def answer(
        self, login: str, method: str, path: str, body: Any = None, **query: str
    ) -> tuple[int, Any]:
        """Code and JSON of an answer; `login` may be a token too."""
        where = path.replace("~", f"/repos/{REPOSITORY}", 1)
        token = self.tokens.get(login, login)
        answer = self.github.ask(token, method, where, body, **query)
        return answer.code, answer.body

    def pull(self, branch: str = "work", *, by: str = "alice") -> Any:
        """An opened pull request with one new file."""
        self.commit(branch, {f"{branch}.txt": "x\n"})
        body = {"head": branch, "base": "main", "title": "A title", "body": "A body"}
        return self.ask(by, "POST", "~/pulls", body)

    def git(self, *arguments: str, token: str = "", cwd: Path | None = None) -> tuple[int, str]:
        """Run git as a person does; `@` in an argument stands for the repository's address."""
        scheme, _, host = self.server.url.partition("://")
        address = f"{scheme}://x-access-token:{token}@{host}/{REPOSITORY}.git"
        filled = [address if text == "@" else text for text in arguments]
        who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
        finished = subprocess.run(
            ["git", *who, *filled],
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return finished.returncode, finished.stdout + finished.stderr


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """The scene, served on a port and stopped at the end."""
    made = Scene.make(tmp_path)
    with made.server:
        yield made
