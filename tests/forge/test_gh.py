"""GitHub's own command-line client on the double, over https as on GitHub Enterprise Server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.forge import description
from tests.forge.certificate import tls_context
from tests.unit.doubles.github.scene import REPOSITORY, Scene

pytestmark = pytest.mark.forge


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody at a terminal."""

    scene: Scene
    trusted: Path

    def run(self, *arguments: str, login: str = "bob", cwd: Path | None = None) -> tuple[int, str]:
        """Run a program; exit code and everything that it printed."""
        host = self.scene.server.url.partition("://")[2]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.scene.folder),
            "GH_CONFIG_DIR": str(self.scene.folder / "gh"),
            "GH_HOST": host,
            "GH_ENTERPRISE_TOKEN": self.scene.tokens.get(login, login),
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

    def api(self, method: str, path: str, *fields: str, login: str = "bob") -> Any:
        """`gh api`, which must succeed; the JSON that came."""
        where = path.replace("~", f"repos/{REPOSITORY}", 1)
        code, said = self.run("gh", "api", "-X", method, where, *fields, login=login)
        assert code == 0, said
        return json.loads(said) if said.strip() else None


@pytest.fixture
def person(tmp_path: Path, watcher: description.Watcher) -> Iterator[Person]:
    if shutil.which("gh") is None:
        pytest.skip("gh is not installed (Debian package gh)")
    context, trusted = tls_context(tmp_path)
    scene = Scene.make(tmp_path, tls=context)
    scene.github.watchers.append(watcher)
    with scene.server:
        yield Person(scene=scene, trusted=trusted)
    assert watcher.wrong == []


def test_a_pull_request_from_opening_to_merge(person: Person) -> None:
    person.scene.commit("work", {"work.txt": "x\n"})
    opened = ("-f", "title=A title", "-f", "head=work", "-f", "base=main")
    pull = person.api("POST", "~/pulls", *opened, login="alice")
    sha = pull["head"]["sha"]
    person.api("POST", "~/issues/1/comments", "-f", "body=/gitbot plan")
    person.api("PUT", "~/issues/1/labels", "-f", "labels[]=gitbot/planned")
    person.api("POST", f"~/statuses/{sha}", "-f", "state=success", "-f", "context=gitbot/plan")
    job = person.scene.github.job_token(REPOSITORY, {"checks": "write"})
    run = ("-f", "name=gitbot/policy", "-f", f"head_sha={sha}", "-f", "conclusion=success")
    person.api("POST", "~/check-runs", *run, login=job)
    person.api("POST", "~/pulls/1/reviews", "-f", "event=APPROVE")
    files = person.api("GET", "~/pulls/1/files")
    assert [(file["filename"], file["status"]) for file in files] == [("work.txt", "added")]
    listed = person.api("GET", f"~/commits/{sha}/check-runs")
    assert [row["name"] for row in listed["check_runs"]] == ["gitbot/policy"]
    merged = person.api("PUT", "~/pulls/1/merge", "-f", f"sha={sha}", "-f", "merge_method=squash")
    compared = person.api("GET", f"~/compare/{merged['sha']}...main")
    assert compared["status"] == "identical"
    assert person.api("GET", "~/pulls/1")["merged_by"]["login"] == "bob"


def test_pages_are_followed(person: Person) -> None:
    person.scene.pull()
    for number in range(7):
        person.scene.ask("bob", "POST", "~/issues/1/comments", {"body": str(number)})
    where = f"repos/{REPOSITORY}/issues/1/comments?per_page=3"
    code, said = person.run("gh", "api", "--paginate", where, "--jq", ".[].body")
    assert (code, said.split()) == (0, ["0", "1", "2", "3", "4", "5", "6"])


def test_refusals_are_told_as_githubs(person: Person) -> None:
    person.scene.pull()
    event = ("-f", "event=APPROVE")
    where = f"repos/{REPOSITORY}/pulls/1/reviews"
    code, said = person.run("gh", "api", "-X", "POST", where, *event, login="alice")
    assert code == 1
    assert "HTTP 422" in said
    assert "Can not approve your own pull request" in said


def test_workflows_are_listed_and_started(person: Person) -> None:
    text = "name: night\non: workflow_dispatch\njobs: {a: {runs-on: x, steps: [{run: echo}]}}\n"
    person.scene.commit("main", {".github/workflows/night.yml": text})
    person.api("POST", "~/actions/workflows/night.yml/dispatches", "-f", "ref=main")
    runs = person.api("GET", "~/actions/workflows/night.yml/runs")
    assert [(run["name"], run["event"]) for run in runs["workflow_runs"]] == [
        ("night", "workflow_dispatch")
    ]


def test_git_over_https(person: Person) -> None:
    scene = person.scene
    host = scene.server.url.partition("://")[2]
    address = f"https://x-access-token:{scene.tokens['bob']}@{host}/{REPOSITORY}"
    assert person.run("git", "clone", "--quiet", address, "clone")[0] == 0
    folder = scene.folder / "clone"
    person.run("git", "checkout", "--quiet", "-b", "work", cwd=folder)
    (folder / "work.txt").write_text("x\n")
    who = ("-c", "user.name=bob", "-c", "user.email=bob@example.org")
    person.run("git", "add", ".", cwd=folder)
    person.run("git", *who, "commit", "--quiet", "--message", "work", cwd=folder)
    assert person.run("git", "push", "--quiet", "origin", "work", cwd=folder)[0] == 0
    assert person.api("GET", "~/git/ref/heads/work")["ref"] == "refs/heads/work"
