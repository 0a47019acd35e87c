"""A token in a remote's URL reaches the server, and no argument list, message or mirror."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import git
import pytest

from gitbot.adapters.git.fetch_tips import fetch_tips
from gitbot.adapters.git.process import Access
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import RepositoryError
from tests.doubles import canaries
from tests.doubles.serving import serving

TOKEN = canaries.plant("canary-7f3a")


@contextmanager
def a_server(heard: list[str]) -> Iterator[int]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers.get("Authorization", ""))
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    with serving(Answer) as port:
        yield port


@pytest.mark.parametrize("whole", [True, False], ids=["clone", "tips"])
def test_it_stands_in_no_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    started: list[list[str]] = []
    execute = git.Git.execute

    def watched(self: Any, command: list[str], *args: Any, **named: Any) -> Any:
        started.append(list(command))
        return execute(self, command, *args, **named)

    monkeypatch.setattr(git.Git, "execute", watched)
    heard: list[str] = []
    folder, access = tmp_path / "mirror", lambda: Access(protocols="http")
    clone = GitRepository.clone if whole else partial(fetch_tips, branches=("main",))
    with a_server(heard) as port, pytest.raises(RepositoryError) as refused:
        clone(f"http://ann:{TOKEN}@127.0.0.1:{port}/intents.git", folder, access=access)
    assert f"Basic {base64.b64encode(f'ann:{TOKEN}'.encode()).decode()}" in heard
    assert any("fetch" in command for command in started)
    assert TOKEN not in str(started)
    assert TOKEN not in str(refused.value)
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert all(TOKEN.encode() not in path.read_bytes() for path in kept)


def test_git_does_not_quote_the_password_of_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands before an unescaped `#` is a host with a port to curl."""
    monkeypatch.setenv("https_proxy", "http://somebody:SECRET#rest@127.0.0.1:1")
    with pytest.raises(RepositoryError, match="proxy syntax") as caught:
        GitRepository.clone("https://127.0.0.1:1/a/b.git", tmp_path / "mirror")
    assert "SECRET" not in str(caught.value)
