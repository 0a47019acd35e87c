"""GitHub's own command-line client on the double, over https as on GitHub Enterprise Server.

What it does for the installation is in `test_install`.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doubles.github.scene import REPOSITORY, Scene
from tests.forge.certificate import tls_context

pytestmark = [pytest.mark.forge, pytest.mark.usefixtures("described")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Bob at a terminal."""

    scene: Scene
    trusted: Path

    def run(self, *arguments: str, cwd: Path | None = None) -> tuple[int, str]:
        """Run a program; exit code and everything that it printed."""
        host = self.scene.server.url.partition("://")[2]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.scene.folder),
            "GH_CONFIG_DIR": str(self.scene.folder / "gh"),
            "GH_HOST": host,
            "GH_ENTERPRISE_TOKEN": self.scene.tokens["bob"],
            "GH_PROMPT_DISABLED": "1",
            "SSL_CERT_FILE": str(self.trusted),
            "GIT_SSL_CAINFO": str(self.trusted),
            "GIT_CONFIG_NOSYSTEM": "1",
            "NO_COLOR": "1",
        }
        finished = subprocess.run(
            arguments,
            cwd=cwd or self.scene.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return finished.returncode, finished.stdout + finished.stderr


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    if shutil.which("gh") is None:
        pytest.skip("gh is not installed (Debian package gh)")
    context, trusted = tls_context(tmp_path)
    scene = Scene.make(tmp_path, tls=context)
    with scene.server:
        yield Person(scene=scene, trusted=trusted)


def test_pages_are_followed(person: Person) -> None:
    person.scene.pull()
    for number in range(7):
        person.scene.ask("bob", "POST", "~/issues/1/comments", {"body": str(number)})
    where = f"repos/{REPOSITORY}/issues/1/comments?per_page=3"
    code, said = person.run("gh", "api", "--paginate", where, "--jq", ".[].body")
    assert (code, said.split()) == (0, ["0", "1", "2", "3", "4", "5", "6"])


def test_refusals_are_told_as_githubs(person: Person) -> None:
    person.scene.pull(by="bob")
    where = f"repos/{REPOSITORY}/pulls/1/reviews"
    code, said = person.run("gh", "api", "-X", "POST", where, "-f", "event=APPROVE")
    assert code == 1
    assert "HTTP 422" in said
    assert "your own pull request" in said


def test_git_over_https(person: Person) -> None:
    scene = person.scene
    host = scene.server.url.partition("://")[2]
    address = f"https://x-access-token:{scene.tokens['bob']}@{host}/{REPOSITORY}"
    assert person.run("git", "clone", "--quiet", address, "clone")[0] == 0
    folder = scene.folder / "clone"
    assert person.run("git", "push", "--quiet", "origin", "HEAD:work", cwd=folder)[0] == 0
    git = scene.github.repository(REPOSITORY).git
    assert git.resolve("work") == git.resolve("main")
