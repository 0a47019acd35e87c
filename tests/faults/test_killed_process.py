"""A real process, killed with SIGKILL at each of its calls to Git and to the API server.

The process that follows comes to the end that an undisturbed one comes to. It does so, too, when
Git can write nothing at one of its calls, as on a full disk.
"""

import copy
import http.client
import multiprocessing
import os
import shutil
import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gitbot.errors import Bug, GitbotError
from gitbot.simulation.http import ApiServer
from gitbot.workflows.apply import apply
from tests.faults.proxy import Proxy
from tests.faults.test_proxied import PASSES, End, Scene, VirtualClock, end_of, scene, shell_of

__all__ = ["scene"]
RESTS, GOES_ON = 0, 3  # exit codes of a process
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.faults.test_proxied", "gitbot.workflows.apply"])


@dataclass(frozen=True)
class FarClock:
    """The cluster's time, which the proxy tells."""

    url: str

    def now(self) -> int:
        return self._ask("GET", "/_clock")

    def sleep(self, seconds: int, /) -> None:
        self._ask("POST", f"/_clock/{seconds}")

    def _ask(self, method: str, path: str) -> int:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        connection.request(method, path)
        told = int(connection.getresponse().read())
        connection.close()
        return told


def process(folder: Path, count: int, url: str, path: str) -> None:
    """One pass in a process of its own."""
    os.environ["PATH"] = path
    try:
        result = apply(shell_of(folder, count, url, FarClock(url)))
    except Bug:
        raise
    except GitbotError:
        os._exit(GOES_ON)
    os._exit(RESTS if result.did_nothing and not result.stop else GOES_ON)


def counting_git(folder: Path, *, number: int, after: bool, full: bool = False) -> Path:
    """A `git` that counts its calls, and kills who called it at one of them, or writes no file."""
    shims = folder / "bin"
    shims.mkdir()
    git = shutil.which("git")
    kill = "kill -9 $PPID"
    before = "trap '' XFSZ; ulimit -f 0" if full else f"{kill}; exit 1"
    shim = shims / "git"
    shim.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >> {folder}/calls\n'
        f"number=$(wc -l < {folder}/calls)\n"
        f'if [ "$number" -eq {number} ]; then\n'
        + (f'  {git} "$@"; {kill}; exit 1\n' if after else f"  {before}\n")
        + f'fi\nexec {git} "$@"\n'
    )
    shim.chmod(0o755)
    return shims


def run(
    scene: Scene,
    folder: Path,
    *,
    git: int = 0,
    api: int = 0,
    after: bool = False,
    full: bool = False,
) -> tuple[End, int, int]:
    """Processes until one has nothing to do; the end, how many were killed, how many Git calls."""
    folder.mkdir()
    shutil.copytree(scene.folder / "placement.git", folder / "placement.git")
    shims = counting_git(folder, number=git, after=after, full=full)
    path = f"{shims}:{os.environ['PATH']}"
    killed = 0
    with ApiServer(copy.deepcopy(scene.cluster)) as face:
        clock = VirtualClock(face)
        how = "" if not api else "kill after" if after else "kill before"
        with Proxy(face.url, number=api, how=how, pause=clock.sleep, now=clock.now) as proxy:
            for count in range(PASSES):
                one = PROCESSES.Process(target=process, args=(folder, count, proxy.url, path))
                one.start()
                pid = one.pid or 0
                proxy.kill = partial(os.kill, pid, signal.SIGKILL)
                one.join(120)
                killed += one.exitcode == -signal.SIGKILL
                assert one.exitcode in (RESTS, GOES_ON, -signal.SIGKILL)
                if one.exitcode == RESTS:
                    break
                clock.sleep(61)
            else:
                raise AssertionError("it does not come to rest")
            calls = len((folder / "calls").read_text().splitlines())
            end = end_of(shell_of(folder, PASSES, proxy.url, clock), face, proxy)
            return end, killed, calls


def _all(scene: Scene, folder: Path, *, every: int) -> None:
    clean, killed, calls = run(scene, folder / "clean")
    assert (clean.states, len(clean.created), killed) == (("succeeded",), 1, 0)
    points = [("git", number) for number in range(1, calls + 1)]
    points += [("api", number) for number in range(1, clean.calls + 1)]
    places = [(kind, number, after) for kind, number in points for after in (False, True)]
    for kind, number, after in places[::every]:
        where = folder / f"{kind}{number}{after}"
        git, api = (number, 0) if kind == "git" else (0, number)
        end, killed, _ = run(scene, where, git=git, api=api, after=after)
        at = f"killed {'after' if after else 'before'} call {number} of {kind}"
        assert killed == 1, at
        assert end.same_as(clean), f"{at}: {end}"
        shutil.rmtree(where)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_at_some_calls(scene: Scene, tmp_path: Path) -> None:
    _all(scene, tmp_path, every=29)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_killed_at_every_call(scene: Scene, tmp_path: Path) -> None:
    _all(scene, tmp_path, every=1)


def _full(scene: Scene, folder: Path, *, every: int) -> None:
    clean, _, calls = run(scene, folder / "clean")
    for number in range(1, calls + 1, every):
        end, killed, _ = run(scene, folder / f"full{number}", git=number, full=True)
        at = f"no file can be written at call {number} of git"
        assert (killed, end.same_as(clean)) == (0, True), f"{at}: {end}"
        shutil.rmtree(folder / f"full{number}")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_disk_that_is_full_at_some_calls_of_git(scene: Scene, tmp_path: Path) -> None:
    _full(scene, tmp_path, every=29)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_a_disk_that_is_full_at_every_call_of_git(scene: Scene, tmp_path: Path) -> None:
    _full(scene, tmp_path, every=1)
