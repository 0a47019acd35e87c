"""The action's own two steps as GitHub runs them: gitbot from its lock by hash, and one command."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitbot.documents import read_kubernetes_yaml

ROOT = Path(__file__).resolve().parent.parent.parent
ACTION = ROOT / ".github" / "actions" / "gitbot"
INSTALL_SECONDS = 900
OWN = ("pip", "setuptools", "kubevirt-gitbot")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * INSTALL_SECONDS)]


def steps() -> list[dict[str, Any]]:
    (action,) = read_kubernetes_yaml((ROOT / "action.yml").read_bytes(), "action.yml")
    found: list[dict[str, Any]] = action["runs"]["steps"]
    return found


def no_index() -> str:
    """Why nothing can be installed here; "" where packages can be had."""
    if os.environ.get("PIP_NO_INDEX"):
        return "pip has no package index here"
    asked = [sys.executable, "-m", "pip", "--no-input", "index", "versions", "hatchling"]
    done = subprocess.run([*asked, "--retries", "0"], capture_output=True, check=False, timeout=60)
    return "" if done.returncode == 0 else "pip reaches no package index"


def step(number: int, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """One step of the action as a runner starts it, in a folder that is nobody's checkout."""
    for name in ("home", "temporary", "work"):
        (folder / name).mkdir(exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_"))}
    environment = {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
        "RUNNER_TEMP": str(folder / "temporary"),
        "GITHUB_OUTPUT": str(folder / "outputs"),
        "GITBOT_ACTION": str(ACTION),
        "GITBOT_INSTALL_FROM": inputs.pop("install_from", ""),
        **{f"GITBOT_INPUT_{name.upper()}": value for name, value in inputs.items()},
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", steps()[number]["run"]],
        cwd=folder / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_SECONDS,
    )


def test_a_runner_with_nothing_on_it_gets_gitbot_from_the_lock(tmp_path: Path) -> None:
    if no_index():
        pytest.skip(no_index())
    # a checkout beside the step may bring what it likes: nothing of it is run while installing
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "pip.py").write_text("raise SystemExit('run from the checkout')\n")
    installed = step(0, tmp_path)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    ran = step(1, tmp_path, command="version", findings="fail")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    program = tmp_path / "temporary" / "gitbot-environment" / "bin" / "gitbot"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    asked: list[str | Path] = [program.with_name("python"), "-I", "-m", "hatchling", "version"]
    version = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.stdout == f"gitbot {version}"
    assert said.stdout.strip() in ran.stdout
    # what is there is what the lock names, and gitbot: nothing was resolved by the way
    listed = subprocess.run(
        [program.with_name("python"), "-I", "-m", "pip", "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
    )
    lock = (ROOT / "requirements" / "runtime.txt").read_text("utf-8")
    named = {
        f"{name.lower()}=={v}"
        for name, v in re.findall(r"^([\w.-]+)(?:\[[^]]+\])?==([^\s;]+)", lock, re.MULTILINE)
    }
    found = {row.lower().replace("_", "-") for row in listed.stdout.split()}
    extra = {row for row in found if row.partition("==")[0] not in OWN}
    assert extra <= named


def test_a_package_that_is_not_what_the_lock_says_is_refused(tmp_path: Path) -> None:
    if no_index():
        pytest.skip(no_index())
    source = tmp_path / "source"
    (source / "requirements").mkdir(parents=True)
    lock = (ROOT / "requirements" / "runtime.txt").read_text("utf-8")
    entry = re.search(r"^click==\S+", lock, re.MULTILINE)
    assert entry is not None
    wrong = f"{entry.group()} --hash=sha256:{'0' * 64}\n"
    (source / "requirements" / "runtime.txt").write_text(wrong, encoding="utf-8")
    shutil.copy(ROOT / "pyproject.toml", source)
    refused = step(0, tmp_path, install_from=str(source))
    assert refused.returncode == 2
    assert "::error::gitbot could not be installed" in refused.stdout
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert not (tmp_path / "temporary" / "gitbot-environment" / "installed-from").exists()
