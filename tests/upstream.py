"""`python -m tests.upstream kubevirt --data CLONE --to TAG`: what changed upstream.

Prints each path of `SOURCES` that differs between the version that we follow and TAG, with our
modules that follow it. Exit code 1 if a path was removed or renamed as a whole, so that the table
has to follow; 2 if Git cannot compare.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence

from gitbot.constraints.scheduler import versions as kubernetes
from gitbot.kubevirt import versions as kubevirt

FOLLOWED = {
    "kubevirt": (kubevirt.TAG, kubevirt.SOURCES),
    "kubernetes": (kubernetes.TAG, kubernetes.SOURCES),
}


def changed(clone: str, old: str, new: str, path: str) -> str:
    """The diff's table of files; tests and generated build files are left out."""
    left_out = [f":(exclude,glob)**/{name}" for name in ("*_test.go", "BUILD.bazel", "OWNERS")]
    return git(clone, "diff", "--stat=100", old, new, "--", path, *left_out)


def git(clone: str, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", clone, *words], check=True, capture_output=True, text=True
    ).stdout


def report(clone: str, old: str, new: str, sources: Mapping[str, str]) -> int:
    gone = [path for path in sorted(sources) if not git(clone, "ls-tree", new, "--", path)]
    for path, modules in sorted(sources.items()):
        if table := changed(clone, old, new, path):
            print(f"{path}{' (removed)' if path in gone else ''}: {modules}\n{table}")
    return int(bool(gone))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("upstream", choices=sorted(FOLLOWED))
    parser.add_argument("--data", required=True, help="a clone of it, with tags")
    parser.add_argument("--to", required=True, help="the tag to compare with")
    given = parser.parse_args(arguments)
    followed, sources = FOLLOWED[given.upstream]
    try:
        return report(given.data, followed, given.to, sources)
    except subprocess.CalledProcessError as error:
        print(error.stderr.strip(), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
