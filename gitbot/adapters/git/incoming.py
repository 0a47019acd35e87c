"""What somebody's commit changes, measured before anything is merged or read in memory.

Trees may hold each other: a commit of a few hundred bytes can have ten million paths, and Git would
go through all of them (a merge of one takes more than six gigabytes).
"""

from __future__ import annotations

from gitbot.adapters.git.process import Git
from gitbot.errors import RepositoryError

MAX_CHANGES = 100_000  # paths
MAX_NEW_BYTES = 256 * 1024 * 1024  # of all new contents together
_LISTED = 200  # bytes of a listed change with a path of usual length


def must_be_modest(git: Git, before: str, after: str) -> None:
    """RepositoryError where a commit changes too many paths of an earlier one, or brings too much.

    Listed as a stream that is ended in time: `git diff` gathers everything before it says a word.
    """
    listing = ["ls-tree", "-r", "-z", "--full-tree"]
    known = git.run([*listing, before])
    output = git.run_short([*listing, after], len(known) + MAX_CHANGES * _LISTED)
    present = frozenset(known.split(b"\0"))
    new = None if output is None else [it for it in output.split(b"\0") if it not in present]
    if new is None or len(new) > MAX_CHANGES:
        raise RepositoryError(
            f"{after[:12]} changes more than {MAX_CHANGES} files",
            hint="split it: gitbot merges in memory",
        )
    sizes = git.run(["cat-file", "--batch-check=%(objectsize)"], stdin=_blobs(new))
    total = sum(int(line) for line in sizes.split() if line.isdigit())
    if total > MAX_NEW_BYTES:
        raise RepositoryError(
            f"{after[:12]} brings {total} bytes",
            hint=f"gitbot merges at most {MAX_NEW_BYTES} new bytes in memory",
        )


def _blobs(entries: list[bytes]) -> bytes:
    """The ids of files among listed entries (mode, kind, id, tab, path), each once, in lines."""
    heads = (entry.partition(b"\t")[0].split() for entry in entries)
    found = dict.fromkeys(head[2] for head in heads if len(head) == 3 and head[1] == b"blob")
    return b"".join(identity + b"\n" for identity in found)
