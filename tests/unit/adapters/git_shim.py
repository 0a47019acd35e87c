"""A remote with one commit, and a program that answers to the name git before the real one."""

from pathlib import Path

import pytest

from gitbot.adapters.git import Git, commit_tree

REST = 'PATH=${PATH#*:}\nexec git "$@"\n'


def remote_with(folder: Path, branch: str) -> tuple[Git, str, str]:
    """A bare repository whose branch has one commit, its empty tree, and the commit."""
    remote = Git(folder / "remote")
    remote.directory.mkdir()
    remote.run(["init", "--bare", "--quiet", "--template="])
    tree = remote.run(["mktree"]).decode().strip()
    return remote, tree, commit_to(remote, tree, branch, message="one")


def commit_to(remote: Git, tree: str, branch: str, *parents: str, message: str) -> str:
    commit = commit_tree(
        remote, tree, parents=parents, message=message, name="ann", email="a@example", time=7
    )
    remote.run(["update-ref", f"refs/heads/{branch}", commit])
    return commit


def instead_of_git(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell runs `script` first, then the real git."""
    shim = folder / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f"#!/bin/sh\n{script}\n{REST}")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent), prepend=":")
