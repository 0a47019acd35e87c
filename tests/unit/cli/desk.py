"""A person's desk: the real commands in a clone, against the served simulator and a local forge."""

import contextlib
import io
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.cli.main import main
from gitbot.ports.forge import MergeMethod
from gitbot.simulation.http import ApiServer, write_kubeconfig
from tests.doubles import canaries
from tests.doubles.customapp import customapp
from tests.doubles.intents import CONFIGURATION
from tests.scenarios.loop import Loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def typed(*words: str) -> Said:
    """Run `gitbot WORDS...` where the process is."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Said(code=code, out=out.getvalue(), err=err.getvalue())


def gitbot(*words: str) -> tuple[int, str]:
    """Its exit code, and all that it printed."""
    said = typed(*words)
    return said.code, said.text


@dataclass(slots=True, kw_only=True)
class Desk:
    """A clone of the loop's bare repository, and the cluster on a port of 127.0.0.1."""

    loop: Loop
    face: ApiServer
    tree: Path

    def gitbot(self, *words: str) -> Said:
        return typed(*words)

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.tree, capture_output=True, text=True, check=True
        )
        return done.stdout

    def commit(self, **files: str | None) -> None:
        """A person commits intents to main and pulls."""
        self.loop.commit({f"{name}.yaml": text for name, text in files.items()})
        self.git("pull", "-q", "--ff-only")

    def write(self, **files: str) -> None:
        """Intents in the working tree, not committed."""
        folder = self.tree / "intents" / self.loop.cluster.name
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.yaml").write_text(text)


def merge(desk: Desk, number: int) -> None:
    """A person merges a pull request, now."""
    forge = LocalForge(desk.tree.parent / "placement.git", clock=SystemClock()).acting_as("alice")
    head = forge.get_pull(number).head
    forge.merge_pull(number, method=MergeMethod.MERGE, expected_head=head)


@contextlib.contextmanager
def at_desk(
    folder: Path, monkeypatch: pytest.MonkeyPatch, configuration: str = CONFIGURATION
) -> Iterator[Desk]:
    """The customapp after the second drain of its story, with a jumpbox; time is the machine's."""
    cluster = customapp(step=2, jumpbox=True, start_time=SystemClock().now())
    loop = Loop.start(folder, cluster, configuration=configuration)
    tree = folder / "work"
    person = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    subprocess.run(
        ["git", "clone", "-q", *person, str(folder / "placement.git"), str(tree)],
        check=True,
        capture_output=True,
    )
    monkeypatch.chdir(tree)
    with ApiServer(cluster) as face:
        plain = write_kubeconfig(folder / "kubeconfig", server=face.url, context=cluster.name)
        path = canaries.with_credentials(plain)
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield Desk(loop=loop, face=face, tree=tree)
