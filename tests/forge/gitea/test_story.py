"""The whole loop on a real Gitea with the program itself and a simulated cluster.

What people do goes over Gitea's API, as their buttons do; what gitbot does are its commands.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.component import Component
from tests.forge.gitea.server import OWNER, PASSWORD, OwnGitea

pytestmark = [pytest.mark.forge, pytest.mark.xdist_group("gitea"), pytest.mark.timeout(900)]

CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {{name: default}}
spec:
  clusters: [{{name: iberia, timeZone: UTC}}]
  forge: {{type: gitea, address: "{web}", repository: {repository}}}
  mode: Enforce
  proposals: {{stabilize: PT0S}}
"""
REQUEST = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {{name: {name}, namespace: customapp}}
spec:
  vms: {{names: [jumpbox]}}
  target: {{node: {node}}}
  reason: Maintenance
"""
RULE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: ZoneAntiAffinity
metadata: {name: mssql2016, namespace: customapp}
spec:
  selector: {matchLabels: {kubevirt.io/domain: mssql2016}}
  maxPerDomain: 1
"""
FOLDER = "intents/iberia/customapp"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A clone of the intents on Gitea, and a simulated cluster. ana writes, ben and cho review."""

    server: OwnGitea
    repository: str
    clone: Path
    kubeconfig: Path

    def gitbot(self, *arguments: str, code: int = 0) -> str:
        """What a command prints. It acts as the account gitbot."""
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "GITBOT_GITEA_TOKEN": self.server.token("gitbot"),
        }
        done = subprocess.run(
            [sys.executable, "-m", "gitbot", *arguments],
            cwd=self.clone, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert self.server.token("gitbot") not in said
        return said

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.clone, capture_output=True, text=True, check=True
        ).stdout.strip()

    def ask(self, who: str, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return self.server.do(who, verb, f"/repos/{self.repository}{path}", body)

    def push(self, branch: str, file: str, text: str) -> str:
        """Commit a file on a branch of ana's, and push it."""
        (self.clone / file).parent.mkdir(parents=True, exist_ok=True)
        (self.clone / file).write_text(text, encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", f"Change {file}")
        self.git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        return self.git("rev-parse", "HEAD")

    def propose(self, branch: str, file: str, text: str) -> int:
        """The number of ana's new pull request with this file."""
        self.git("fetch", "--quiet", "origin")
        self.git("switch", "--quiet", "--detach", "origin/main")
        self.push(branch, file, text)
        pull = {"head": branch, "base": "main", "title": f"Change {branch}"}
        return int(self.ask("ana", "POST", "/pulls", pull)["number"])

    def approve(self, number: int, *reviewers: str) -> None:
        time.sleep(1.1)  # an approval in the second of a plan may be of the one before
        head = self.ask("ana", "GET", f"/pulls/{number}")["head"]["sha"]
        for who in reviewers:
            review = {"event": "APPROVED", "commit_id": head}
            self.ask(who, "POST", f"/pulls/{number}/reviews", review)

    def merge(self, number: int, style: str = "merge") -> None:
        """As the button does: once Gitea has checked the newest push."""
        deadline = time.monotonic() + 60
        while not self.ask("ana", "GET", f"/pulls/{number}")["mergeable"]:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        self.ask("ana", "POST", f"/pulls/{number}/merge", {"Do": style})

    def statuses(self, number: int) -> dict[str, str]:
        head = self.ask("ana", "GET", f"/pulls/{number}")["head"]["sha"]
        found = sorted(self.ask("ana", "GET", f"/statuses/{head}"), key=lambda each: each["id"])
        return {each["context"]: each["status"] for each in found}


@pytest.fixture
def world(own_gitea: OwnGitea, tmp_path: Path) -> Iterator[World]:
    repository = own_gitea.add_repository("ana", "ben", "cho", "gitbot")
    clone, cluster = tmp_path / "placement", tmp_path / "cluster"
    made = World(
        server=own_gitea, repository=repository, clone=clone, kubeconfig=cluster / "kubeconfig"
    )
    clone.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    for key, value in (("user.name", "ana"), ("user.email", "ana@example.org")):
        made.git("config", key, value)
    address = f"{own_gitea.web}/{repository}.git"
    header = f"Authorization: token {own_gitea.token('ana')}"
    made.git("config", f"http.{own_gitea.web}/.extraheader", header)
    made.git("remote", "add", "origin", address)
    text = CONFIGURATION.format(web=own_gitea.web, repository=repository)
    made.push("main", ".gitbot.yaml", text)
    rule = {"rule_name": "main", "required_approvals": 2, "dismiss_stale_approvals": True}
    own_gitea.do(OWNER, "POST", f"/repos/{repository}/branch_protections", rule)
    with simulated(cluster, tmp_path / "cluster.log"):
        yield made


@contextmanager
def simulated(folder: Path, log: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "gitbot", "demo", "--serve", "--no-story", "--factor", "1"]
    component = Component("cluster", [*command, "--dir", str(folder)], log=log)
    component.start()
    try:
        deadline = time.monotonic() + 60
        while "Ctrl-C" not in component.tail():
            assert component.running, component.tail()
            assert time.monotonic() < deadline, component.tail()
            time.sleep(0.1)
        yield
    finally:
        component.stop()


def test_from_a_request_to_a_healing(world: World) -> None:
    a_stale_approval_approves_nothing(world)
    a_squash_merge_is_carried_out_once(world)
    a_merge_without_a_record_approves_nothing(world)
    the_server_is_killed_and_nothing_is_repeated(world)
    the_bots_pull_request_is_merged_and_carried_out(world)


def a_stale_approval_approves_nothing(world: World) -> None:
    file = f"{FOLDER}/make-room.yaml"
    number = world.propose("make-room", file, REQUEST.format(name="make-room", node="kni-worker6"))
    assert number == 1
    world.gitbot("check", "--pull-request", "1", "--publish")
    world.approve(1, "ben")
    world.push("make-room", file, REQUEST.format(name="make-room", node="kni-worker5"))
    assert "1 move" in world.gitbot("check", "--pull-request", "1", "--publish")
    assert world.statuses(1) == {"gitbot/plan": "success", "gitbot/policy": "success"}
    (comment,) = world.ask("ana", "GET", "/issues/1/comments")
    assert comment["user"]["login"] == "gitbot"
    world.approve(1, "cho")
    status, _ = world.server.ask(
        "POST", f"/repos/{world.repository}/pulls/1/merge", {"Do": "merge"},
        authorization=f"token {world.server.token('ana')}",
    )  # fmt: skip
    assert status == 405  # one approval of two: ben's was of another head
    assert "nothing to do" in world.gitbot("apply")


def a_squash_merge_is_carried_out_once(world: World) -> None:
    world.approve(1, "ben")
    world.merge(1, "squash")
    assert "1 succeeded" in world.gitbot("apply")
    assert "nothing to do" in world.gitbot("apply")
    status = world.gitbot("status")
    assert "customapp/jumpbox: kni-worker -> kni-worker5 succeeded" in status
    world.gitbot("ledger", "verify")


def a_merge_without_a_record_approves_nothing(world: World) -> None:
    file = f"{FOLDER}/back.yaml"
    number = world.propose("back", file, REQUEST.format(name="back", node="kni-worker6"))
    world.approve(number, "ben", "cho")
    world.merge(number)
    said = world.gitbot("apply")
    assert "request/customapp/back: no plan for it is approved" in said


def the_server_is_killed_and_nothing_is_repeated(world: World) -> None:
    before = world.gitbot("ledger", "show")
    world.server.stop()
    said = world.gitbot("apply", code=2)
    assert "Traceback" not in said
    world.server.start()
    assert PASSWORD not in said
    world.gitbot("apply")
    assert world.gitbot("ledger", "show") == before


def the_bots_pull_request_is_merged_and_carried_out(world: World) -> None:
    number = world.propose("rule", f"{FOLDER}/databases.yaml", RULE)
    world.gitbot("check", "--pull-request", str(number), "--publish")
    world.approve(number, "ben", "cho")
    world.merge(number, "rebase")
    world.git("pull", "--quiet", "origin", "main")
    assert "opened" in world.gitbot("propose")
    pull = number + 1
    assert world.ask("ana", "GET", f"/pulls/{pull}")["user"]["login"] == "gitbot"
    world.approve(pull, "ben", "cho")
    world.merge(pull)
    assert "1 succeeded" in world.gitbot("apply")
    assert "nothing to do" in world.gitbot("apply")
    world.gitbot("ledger", "verify")
