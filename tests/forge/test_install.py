"""`Install on GitHub in ten minutes`, typed with git, gh and kubectl as it stands.

What stands in: the double for github.com (git's `insteadOf`, and `GH_HOST`), the simulated cluster,
and two answers of an API server that it does not give: rights, and tokens for them.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.cli.shared.demo_story import request
from gitbot.simulation.http.kubeconfig import write_kubeconfig
from tests.docs.blocks import blocks
from tests.docs.scratch import ROOT, Scratch
from tests.doubles.github import Server
from tests.forge import runner
from tests.forge.certificate import tls_context
from tests.forge.world import REPOSITORY, World, add_app, add_people, empty_world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900)]

PAGE = ROOT / "docs" / "install-on-github.md"
BIN = Path(sys.executable).parent
SECTIONS = ("1. Write", "2. Give", "3. Give", "4. Push", "5. Try")
JUMPBOX = request("jumpbox-to-sab", vm="jumpbox", node="kni-worker5", reason="Other", note="n")
KUBECTL = f"""#!/bin/sh
case "$1 $2" in
"apply -k") exec "{BIN}/kubectl" kustomize "$3" ;;
"create token") echo a-token-of-"$3" ;;
*) exec "{BIN}/kubectl" "$@" ;;
esac
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal(Scratch):
    """A person with git, gh and kubectl at the double."""

    more: dict[str, str]

    def environment(self) -> dict[str, str]:
        """What a person has, led to the double."""
        return {**Scratch.environment(self), **self.more}

    def typed(self, commands: str) -> str:
        """Type commands, which must end well; what was printed."""
        code, printed = self.run(f"set -a\n{commands}")
        assert code == 0, f"{commands}\n{printed}"
        return printed


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The world, and a terminal in the folder `placement`."""

    made: World
    terminal: Terminal
    app: int
    key: str

    def follow(self, section: str) -> str:
        """Type every sh block of a section of the page; all that was printed."""
        text = PAGE.read_text("utf-8")
        start = text.index(f"\n## {section}")
        end = text.index("\n## ", start + 1)
        first, last = text[:start].count("\n"), text[:end].count("\n")
        printed = ""
        for block in blocks(PAGE):
            if block.language == "sh" and first < block.line <= last:
                printed += self.terminal.typed(self.as_typed(block.commands))
        return printed

    def as_typed(self, commands: str) -> str:
        """With what a reader puts in: the number of the App, and who is logged in."""
        token = self.made.tokens["oscar"]
        return commands.replace("123456", str(self.app)).replace("$(gh auth token)", token)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    if runner.missing() or shutil.which("gh") is None:
        pytest.skip(runner.missing() or "gh is not installed (Debian package gh)")
    context, trusted = tls_context(tmp_path)
    with empty_world(tmp_path) as made, Server(made.github, tls=context) as secure:
        add_people(made)
        number, key = add_app(made)
        made.github.add_repository("acme/gitbot")
        made.github.add_collaborator("acme/gitbot", "oscar", "admin")
        made.github.repository(REPOSITORY).variables["GITBOT_INSTALL_FROM"] = "path"
        work = tmp_path / "walk" / "placement"
        work.mkdir(parents=True)
        kubectl = tmp_path / "bin" / "kubectl"
        kubectl.write_text(KUBECTL)
        kubectl.chmod(0o755)
        more = environment(made, secure, trusted)
        terminal = Terminal(folder=work, state=tmp_path / "state", more=more)
        checkout(terminal)
        yield Place(made=made, terminal=terminal, app=number, key=key)


def environment(made: World, secure: Server, trusted: Path) -> dict[str, str]:
    host, folder = secure.url.partition("://")[2], made.folder
    (folder / "home").mkdir()
    config = folder / "gitconfig"
    token = made.tokens["oscar"]
    config.write_text(
        f'[url "https://oscar:{token}@{host}/"]\n\tinsteadOf = https://github.com/\n'
        "[user]\n\tname = oscar\n\temail = oscar@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    kubeconfig = write_kubeconfig(folder / "admin", server=made.face.url, context="prod")
    return {
        "PATH": os.pathsep.join([str(folder / "bin"), str(BIN), os.environ["PATH"]]),
        "HOME": str(folder / "home"),
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_SSL_CAINFO": str(trusted),
        "SSL_CERT_FILE": str(trusted),
        "GH_HOST": host,
        "GH_ENTERPRISE_TOKEN": token,
        "GITHUB_API_URL": made.server.api,
        "KUBECONFIG": str(kubeconfig),
        **made.runner.environment,
    }


def checkout(terminal: Terminal) -> None:
    """The two clones side by side; that of gitbot holds what an administrator applies."""
    beside = terminal.folder.parent / "gitbot"
    beside.mkdir()
    shutil.copytree(ROOT / "deploy", beside / "deploy")
    terminal.typed("git init --quiet; git remote add origin https://github.com/acme/placement")
    terminal.typed(
        "(cd ../gitbot && git init --quiet && git add . && git commit --quiet -m gitbot &&"
        " git push --quiet https://github.com/acme/gitbot main)"
    )


def test_the_page_as_it_stands(place: Place) -> None:
    made = place.made
    printed = ""
    for section in SECTIONS:
        if section.startswith("2."):  # downloaded by then
            (place.terminal.folder / "app.pem").write_text(place.key)
        printed += place.follow(section)
        made.run()  # what GitHub starts by it
    repository = made.github.repository(REPOSITORY)
    assert set(repository.environments) == {"gitbot", "gitbot-prod"}
    assert all(item.branches == ("main",) for item in repository.environments.values())
    assert set(repository.environments["gitbot"].secrets) == {"GITBOT_APP_KEY"}
    assert made.answer("oscar", "GET", "~/branches/gitbot%2Fsnapshot%2Fprod")[0] == 200
    assert "fail " not in printed  # the diagnosis
    assert place.terminal.typed("git status --porcelain --branch") == "## main...origin/main\n"
    shown(place)
    meant(place)


def shown(place: Place) -> None:
    """A request gets its comment and checks; merged, it moves nothing while gitbot observes."""
    made = place.made
    number = made.open_pull("jump", {"intents/prod/jumpbox.yaml": JUMPBOX})
    made.run()
    (comment,) = made.comments(number)
    assert comment["user"]["login"] == "gitbot[bot]"
    assert "jumpbox" in comment["body"]
    assert made.checks(number) == {"gitbot/plan": "success", "gitbot/policy": "success"}
    made.merge(number)
    made.run()
    assert made.migrations() == []


def meant(place: Place) -> None:
    """The day you mean it: what was merged before is carried out now."""
    made = place.made
    git = made.github.repository(REPOSITORY).git
    text = git.blob("main:.gitbot.yaml").decode().replace("mode: Observe", "mode: Enforce")
    number = made.open_pull("mean-it", {".gitbot.yaml": text})
    made.run()
    made.merge(number)
    made.run()
    assert made.instances()["jumpbox"] == "kni-worker5"
    assert len(made.migrations()) == 1
