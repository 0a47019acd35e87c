"""`python -m tests.upstream kubevirt --data CLONE --to TAG`: what changed upstream, by our module.

Prints, for each module that follows source of KubeVirt or Kubernetes, the files of its `SOURCES`
that differ between the version that we follow and TAG. Exit code 1 if one was removed or renamed
as a whole, so that the table has to follow; 2 if Git cannot compare.
"""

from __future__ import annotations

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


def changed(clone: str, old: str, new: str, paths: Sequence[str]) -> str:
    """The diff's table of files; tests and generated build files are left out."""
    left_out = [f":(exclude,glob)**/{name}" for name in ("*_test.go", "BUILD.bazel", "OWNERS")]
    words = ["git", "-C", clone, "diff", "--stat=100", old, new, "--", *paths, *left_out]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def missing(clone: str, new: str, paths: Sequence[str]) -> list[str]:
    asked = [f"{new}:{path}" for path in paths]
    words = ["git", "-C", clone, "cat-file", "--batch-check"]
    said = subprocess.run(words, input="\n".join(asked), check=True, capture_output=True, text=True)
    return [
        path
        for path, line in zip(paths, said.stdout.splitlines(), strict=True)
        if line.endswith(" missing")
    ]


def report(clone: str, old: str, new: str, sources: Mapping[str, Sequence[str]]) -> int:
    gone = {path for paths in sources.values() for path in missing(clone, new, paths)}
    for module, paths in sorted(sources.items()):
        if table := changed(clone, old, new, paths):
            print(f"{module}\n{table}")
    for path in sorted(gone):
        print(f"removed: {path}")
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
