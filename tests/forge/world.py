"""A whole small world: GitHub with the shipped workflows, a simulated cluster, people, a runner."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from gitbot.adapters.forges.github.setup import GitHubChoices, workflow_files
from gitbot.adapters.working_tree import ShippedTexts
from gitbot.cli.shared.demo_story import CONFIGURATION
from gitbot.kubernetes.objects import at, labels_of
from gitbot.simulation.http.kubeconfig import write_kubeconfig
from gitbot.simulation.http.server import ApiServer
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.doubles.customapp import customapp
from tests.doubles.github import GitHub, Server
from tests.doubles.github.state import Environment
from tests.forge.clock import ClockServer, WorldClock
from tests.forge.runner import ROOT, Ran, Runner

MANAGED_BY = "app.kubernetes.io/managed-by"
REPOSITORY = "acme/placement"
CLUSTER = "iberia"
ACTION = "acme/gitbot@" + "0123456789abcdef" * 2 + "01234567"
APP_RIGHTS = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
}
FOLDER = f"intents/{CLUSTER}/customapp"
START = 1_795_269_600  # 2026-11-21T14:00:00Z, a Saturday


@dataclass(slots=True, kw_only=True)
class World:
    """What a story plays in. People: alice and bob may write, oscar owns, mallory has a fork."""

    folder: Path
    cluster: SimulatedCluster
    face: ApiServer
    clock: WorldClock
    github: GitHub
    server: Server
    runner: Runner
    tokens: dict[str, str] = field(default_factory=dict)

    # -- people -----------------------------------------------------------------------------------

    def ask(self, login: str, method: str, path: str, body: Any = None, **query: str) -> Any:
        """What a person does on GitHub; `~` stands for the repository."""
        code, answer = self.answer(login, method, path, body, **query)
        assert code < 400, (code, answer)
        return answer

    def answer(
        self, login: str, method: str, path: str, body: Any = None, **query: str
    ) -> tuple[int, Any]:
        """Code and JSON of the answer to a person."""
        where = path.replace("~", f"/repos/{REPOSITORY}", 1)
        with self.server.lock:
            answer = self.github.ask(self.tokens[login], method, where, body, **query)
        return answer.code, answer.body

    def commit(
        self,
        branch: str,
        files: Mapping[str, str | None],
        *,
        repository: str = REPOSITORY,
    ) -> str:
        """A commit on a branch, made from main where it is new; as a push leaves it."""
        with self.server.lock:
            git = self.github.repository(repository).git
            parent = git.resolve(branch) or git.resolve("main")
            content = {path: None if t is None else t.encode() for path, t in files.items()}
            sha = git.write_commit(
                git.write_tree(parent, content),
                parents=(parent,) if parent else (),
                message=f"Change {branch}",
                name="alice",
                email="alice@example.org",
                time=self.clock.now(),
            )
            git.set_ref(f"refs/heads/{branch}", sha)
        return sha

    def open_pull(self, branch: str, files: Mapping[str, str], *, title: str = "A change") -> int:
        """Alice commits to a branch and opens a pull request."""
        self.commit(branch, files)
        body = {"head": branch, "base": "main", "title": title}
        return int(self.ask("alice", "POST", "~/pulls", body)["number"])

    def merge(self, number: int, *, login: str = "bob") -> None:
        """Bob approves and merges."""
        self.clock.sleep(5)
        self.ask(login, "POST", f"~/pulls/{number}/reviews", {"event": "APPROVE"})
        self.clock.sleep(5)
        head = self.ask(login, "GET", f"~/pulls/{number}")["head"]["sha"]
        self.ask(login, "PUT", f"~/pulls/{number}/merge", {"sha": head})

    def say(self, number: int, text: str, *, login: str = "bob") -> None:
        """Comment on a pull request."""
        self.ask(login, "POST", f"~/issues/{number}/comments", {"body": text})

    def dispatch(self, file: str = "reconcile.yml") -> None:
        """Start a workflow by hand."""
        self.ask("bob", "POST", f"~/actions/workflows/{file}/dispatches", {"ref": "main"})

    # -- what is there -----------------------------------------------------------------------------

    def instances(self, domain: str = "") -> dict[str, str]:
        """VMI name to node."""
        with self.face.lock:
            return {
                vmi["metadata"]["name"]: at(vmi, "status", "nodeName", default="")
                for vmi in self.cluster.list("VirtualMachineInstance", "customapp")
                if domain in ("", vmi["metadata"].get("labels", {}).get("kubevirt.io/domain"))
            }

    def migrations(self) -> list[Mapping[str, Any]]:
        """Every migration object of gitbot's, oldest first."""
        with self.face.lock:
            found = self.cluster.list("VirtualMachineInstanceMigration", "customapp")
            mine = [m for m in found if labels_of(m).get(MANAGED_BY) == "gitbot"]
        return sorted(mine, key=lambda m: str(m["metadata"]["creationTimestamp"]))

    def comments(self, number: int) -> list[dict[str, Any]]:
        """Comments on a pull request, oldest first."""
        found: list[dict[str, Any]] = self.ask("bob", "GET", f"~/issues/{number}/comments")
        return found

    def checks(self, number: int) -> dict[str, str]:
        """Name to conclusion (or status) of the newest check runs of gitbot's on the head."""
        sha = self.ask("bob", "GET", f"~/pulls/{number}")["head"]["sha"]
        listed = self.ask("bob", "GET", f"~/commits/{sha}/check-runs", per_page="100")
        return {
            run["name"]: run["conclusion"] or run["status"]
            for run in listed["check_runs"]
            if run["name"].startswith("gitbot/")
        }

    def open_pulls(self) -> dict[int, str]:
        """Number to title of the open pull requests."""
        return {p["number"]: p["title"] for p in self.ask("bob", "GET", "~/pulls")}

    def ledger(self) -> list[dict[str, Any]]:
        """Every line of the ledger in its own order."""
        with self.server.lock:
            git = self.github.repository(REPOSITORY).git
            tip = git.resolve("gitbot/ledger")
            paths = git.files(tip) if tip else []
            texts = [git.blob(f"{tip}:{path}") for path in paths if path.endswith(".jsonl")]
        lines = [json.loads(line) for text in texts for line in text.splitlines()]
        return sorted(lines, key=lambda line: int(line["seq"]))

    def dashboard(self) -> str:
        """The text of the bot's issue; "" where there is none."""
        listed = self.ask("bob", "GET", "~/issues", state="all", per_page="100")
        issues = [issue for issue in listed if "pull_request" not in issue]
        return str(issues[0]["body"]) if issues else ""

    # -- machinery --------------------------------------------------------------------------------

    def wait_until(self, moment: str) -> None:
        """Sleep until a time of the first day, such as 21:47."""
        hours, minutes = moment.split(":")
        midnight = START // 86_400 * 86_400
        self.clock.sleep(midnight + int(hours) * 3600 + int(minutes) * 60 - self.clock.now())

    def run(self) -> list[Ran]:
        """Let the runner work until nothing is queued; every job must end well."""
        ran = self.runner.run_all()
        for row in ran:
            ended = row.conclusion
            assert ended in ("success", "skipped"), f"{row.workflow} {row.job}\n{row.said}"
        return ran


@contextmanager
def empty_world(folder: Path, *, start: int = START) -> Iterator[World]:
    """Start everything; the repository is empty, and nobody may do anything in it yet."""
    cluster = customapp(step=2, jumpbox=True, start_time=start)
    cluster.cordon("kni-worker2", unschedulable=False)
    cluster.settle()
    with ApiServer(cluster) as face:
        clock = WorldClock(face)
        github = GitHub(folder / "service", clock=clock)
        github.add_repository(REPOSITORY)
        with Server(github) as server, ClockServer(clock) as time:
            runner = Runner(
                server=server,
                folder=folder,
                environment={"GITBOT_STORY_CLOCK": time.address},
            )
            yield World(
                folder=folder,
                cluster=cluster,
                face=face,
                clock=clock,
                github=github,
                server=server,
                runner=runner,
            )


@contextmanager
def world(
    folder: Path, *, limits: str = "", start: int = START, app: bool = False
) -> Iterator[World]:
    """Start everything; main holds configuration and workflows. All of it is stopped at the end.

    With `app` gitbot acts as a GitHub App, and a ruleset lets nobody else push to gitbot/**.
    """
    with empty_world(folder, start=start) as made:
        _install(made, limits)
        if app:
            _install_app(made)
        yield made


def add_people(made: World) -> None:
    """alice and bob may write, oscar owns; and gitbot is on the machine."""
    for login, role in (("alice", "write"), ("bob", "write"), ("oscar", "admin")):
        made.github.add_collaborator(REPOSITORY, login, role)
        made.tokens[login] = made.github.personal_token(login)
    _program(made.folder)


def _install(made: World, limits: str) -> None:
    """What the page "Install on GitHub" does: people, rules, secrets, files."""
    github = made.github
    add_people(made)
    choices = GitHubChoices(repository=REPOSITORY, action=ACTION)
    files = workflow_files(ShippedTexts().workflows(), choices, cluster=CLUSTER)
    configuration = CONFIGURATION.replace(
        "{type: local, repository: origin, baseBranch: main}",
        f"{{type: github, repository: {REPOSITORY}, baseBranch: main}}",
    )
    if limits:
        zone = "    timeZone: Europe/Madrid\n"
        configuration = configuration.replace(zone, f"{zone}    limits: {limits}\n")
    made.commit("main", {**files, ".gitbot.yaml": configuration})
    repository = github.repository(REPOSITORY)
    github.ask(made.tokens["oscar"], "GET", f"/repos/{REPOSITORY}")
    repository.runs.clear()  # what the arrival of the files started
    kubeconfig = write_kubeconfig(made.folder / "kubeconfig", server=made.face.url, context=CLUSTER)
    repository.variables["GITBOT_INSTALL_FROM"] = "path"
    repository.actions_may_approve = True
    repository.environments[f"gitbot-{CLUSTER}"] = Environment(
        id=1, name=f"gitbot-{CLUSTER}",
        secrets={"GITBOT_KUBECONFIG": kubeconfig.read_text()},
    )  # fmt: skip
    repository.environments["gitbot"] = Environment(id=2, name="gitbot")
    repository.rulesets[3] = {
        "name": "main is reviewed",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [
            {"type": "pull_request", "parameters": {"required_approving_review_count": 1}},
            {"type": "non_fast_forward"},
            {"type": "deletion"},
        ],
    }


def add_app(made: World) -> tuple[int, str]:
    """gitbot's App, installed on the repository: its number, and its private key (PEM)."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    app = made.github.add_app(
        "gitbot", public_key=public.decode(), permissions=APP_RIGHTS, repository=REPOSITORY
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return app.id, private.decode()


def _install_app(made: World) -> None:
    """The recommended install: an App with its key in the environments, and a ruleset for it."""
    number, private = add_app(made)
    repository = made.github.repository(REPOSITORY)
    repository.actions_may_approve = False
    repository.variables["GITBOT_APP_ID"] = str(number)
    for environment in repository.environments.values():
        environment.secrets["GITBOT_APP_KEY"] = private
    actor = {"actor_id": number, "actor_type": "Integration", "bypass_mode": "always"}
    repository.rulesets[4] = {
        "name": "only gitbot pushes gitbot/**",
        "enforcement": "active",
        "bypass_actors": [actor],
        "conditions": {"ref_name": {"include": ["refs/heads/gitbot/**/*"], "exclude": []}},
        "rules": [{"type": "creation"}, {"type": "update"}, {"type": "deletion"}],
    }


def _program(folder: Path) -> None:
    """A program called gitbot, which is gitbot on the story's clock, and a python3 for actions.

    The machine's own python3 may be a shell script that looks for one.
    """
    program = folder / "bin" / "gitbot"
    program.parent.mkdir(parents=True)
    start = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m tests.forge.virtual_gitbot "$@"'
    program.write_text(f"#!/bin/sh\n{start}\n")
    program.chmod(0o755)
    (program.parent / "python3").symlink_to(Path(sys.executable).resolve())
