"""Kustomize as a separate program: `kustomize build`, else `kubectl kustomize`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from gitbot.errors import InvalidInput

_SECONDS = 60
_NOWHERE = "http://127.0.0.1:9"
_PROGRAMS = (("kustomize", "build"), ("kubectl", "kustomize"))


def kustomize_program() -> tuple[str, ...]:
    """The command that builds a folder; empty if none is installed."""
    for name, verb in _PROGRAMS:
        path = shutil.which(name)
        if path:
            return path, verb
    return ()


def build_kustomization(program: tuple[str, ...], folder: Path) -> bytes:
    """The objects of a folder with a kustomization, as YAML. Raises InvalidInput with its message.

    By its defaults, Kustomize reads no file outside the folder, and runs no plug-in. It reaches
    neither a Git remote nor an address beyond this machine.
    """
    # Only what is needed to find programs: neither tokens nor a kubeconfig.
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"GIT_ALLOW_PROTOCOL": "", "HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE}
    try:
        done = subprocess.run(  # noqa: S603 - a found program and a folder of our own, no shell
            [*program, str(folder)],
            check=False,
            capture_output=True,
            timeout=_SECONDS,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidInput(f"{program[0]} gave no answer within {_SECONDS} s") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InvalidInput(said[-1] if said else f"{program[0]}: exit code {done.returncode}")
    return done.stdout
