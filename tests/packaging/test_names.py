"""The name under which gitbot is installed: another project owns `gitbot` on the package index."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
INSTALL = re.compile(r"(?:pip3?|pipx|uv tool) install([^`\n]*)")
OPTION = re.compile(
    r"--(?:quiet|force-reinstall|require-hashes|no-[a-z-]+|editable|only-binary \S+)"
)
NAME = re.compile(r"[a-z][a-z0-9-]*(\[[a-z,]*\])?")
OTHERS = {"pyyaml"}  # distributions that a message tells people to install


def installed() -> Iterator[tuple[str, str]]:
    """Each distribution that a file tells people to install."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split():
        path = ROOT / name
        if name.startswith("tests/") or not path.is_file():
            continue
        for words in INSTALL.findall(path.read_text("utf-8", errors="replace")):
            for word in OPTION.sub("", words).replace("'", " ").replace('"', " ").split():
                if NAME.fullmatch(word):
                    yield name, word.partition("[")[0]


def test_every_line_that_installs_names_our_distribution_or_a_path() -> None:
    assert {word for _, word in installed()} <= {PROJECT["name"], *OTHERS}


def test_command_and_package_keep_their_names() -> None:
    assert set(PROJECT["scripts"]) == {"gitbot", "kubectl-gitbot"}
    assert set(PROJECT["scripts"].values()) == {"gitbot.__main__:main"}
