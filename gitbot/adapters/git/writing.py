"""Writing Git's objects: trees by a temporary index, commits with given names and times."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.adapters.git.process import Git
from gitbot.adapters.temporary import temporary_folder

_REMOVED = "0 " + "0" * 40


def write_tree(git: Git, base: str | None, files: Mapping[str, bytes | None]) -> str:
    """The id of the tree of `base` (None: empty) with files replaced, added or (None) removed."""
    with temporary_folder("index") as folder:
        environment = {"GIT_INDEX_FILE": str(folder / "index")}
        if base:
            git.run(["read-tree", base], environment=environment)
        lines = b"".join(_index_line(git, path, data) for path, data in sorted(files.items()))
        git.run(["update-index", "-z", "--index-info"], stdin=lines, environment=environment)
        return git.run(["write-tree"], environment=environment).decode("ascii").strip()


def commit_tree(
    git: Git,
    tree: str,
    *,
    parents: tuple[str, ...],
    message: str,
    name: str,
    email: str,
    time: int,
) -> str:
    """Make a commit object; nothing points to it yet. Same input, same id."""
    who = {"NAME": name, "EMAIL": email, "DATE": f"@{time} +0000"}
    environment = {
        f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
    }
    arguments = ["commit-tree", tree]
    for parent in parents:
        arguments += ["-p", parent]
    output = git.run(
        [*arguments, "-F", "-"], stdin=message.encode("utf-8"), environment=environment
    )
    return output.decode("ascii").strip()


def _index_line(git: Git, path: str, data: bytes | None) -> bytes:
    if data is None:
        return f"{_REMOVED}\t{path}".encode() + b"\0"
    blob = git.run(["hash-object", "-w", "--stdin"], stdin=data).decode("ascii").strip()
    return f"100644 {blob}\t{path}".encode() + b"\0"
