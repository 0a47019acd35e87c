"""A control plane for a person: `make controlplane-up` and `make controlplane-down`.

`up` builds what is missing, starts everything in the background and prints the way to it; where
one runs already it only prints. `down` ends it and takes its folder away; where none runs it does
nothing. Everything lies in one folder of the user's cache.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tests.controlplane import build

FOLDER = build.CACHE / "running"
LOCK = build.CACHE / "running.lock"  # held by the one who serves, with its process id inside
KUBECONFIG = FOLDER / "kubeconfig"
LOG = FOLDER / "log"
READY_SECONDS = 180.0
DOWN_SECONDS = 30.0
CONTEXT = "controlplane"
ROOT = Path(__file__).resolve().parents[2]


def held_by() -> int:
    """The process that serves now, 0 if there is none."""
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a+") as lock:
        if _taken(lock):
            fcntl.flock(lock, fcntl.LOCK_UN)
            return 0
        lock.seek(0)
        return int(lock.read() or 0)


def _taken(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def up() -> int:
    """Start, wait, and say how to look at it."""
    if not held_by():
        try:
            build.build(build.COMPONENTS)
        except build.CannotBuild as problem:
            return _say(str(problem), 1)
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        with LOG.open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.controlplane.person", "serve"],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # it outlives this command and its terminal
            )
        if not _came_up(process):
            return _say(f"it did not come up; its log is {LOG}", 1)
    print(f"export KUBECONFIG={KUBECONFIG}")
    print("kubectl get nodes -L topology.kubernetes.io/zone,performance")
    print("kubectl get vmi,pods -n customapp -o wide")
    return _say("it runs until `make controlplane-down`", 0)


def _came_up(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the kubeconfig, and repeat what the log says meanwhile."""
    deadline, shown = time.monotonic() + READY_SECONDS, 0
    while time.monotonic() < deadline:
        lines = LOG.read_text("utf-8").splitlines()
        for line in lines[shown:]:
            _say(line, 0)
        shown = len(lines)
        if KUBECONFIG.exists():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.2)
    return False


def down() -> int:
    """End it, and wait until it has."""
    process = held_by()
    if not process:
        shutil.rmtree(FOLDER, ignore_errors=True)
        return _say("nothing runs", 0)
    os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + DOWN_SECONDS
    while held_by():
        if time.monotonic() > deadline:
            return _say(f"process {process} does not end; its log is {LOG}", 1)
        time.sleep(0.1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    return _say("ended", 0)


def serve() -> int:
    """Hold everything until the end is asked for (SIGTERM)."""
    from tests.controlplane.stage import Stage  # noqa: PLC0415 - heavy, and only for this

    with LOCK.open("a+") as lock:
        if not _taken(lock):
            return _say("another one runs", 1)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        stops = {signal.SIGTERM, signal.SIGINT}
        signal.pthread_sigmask(signal.SIG_BLOCK, stops)  # before any thread: all inherit it
        try:
            with Stage(folder=FOLDER / "plane", context=CONTEXT, say=_print) as stage:
                stage.customapp()
                unfinished = KUBECONFIG.with_suffix(".new")
                shutil.copyfile(stage.plane.kubeconfig(), unfinished)
                unfinished.replace(KUBECONFIG)
                signal.sigwait(stops)
        except Exception:  # noqa: BLE001 - the log is all that is left of it
            traceback.print_exc()
            return 1
    return 0


def _print(text: str) -> None:
    print(text, flush=True)


def _say(text: str, code: int) -> int:
    print(f"controlplane: {text}", file=sys.stderr, flush=True)
    return code


COMMANDS = {"up": up, "down": down, "serve": serve}


def main(arguments: Sequence[str]) -> int:
    """Do what the first argument says."""
    if len(arguments) != 1 or arguments[0] not in COMMANDS:
        return _say(f"expected one of {', '.join(COMMANDS)}", 2)
    return COMMANDS[arguments[0]]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
