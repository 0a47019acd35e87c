"""The hook that pre-commit installs from this repository, run by pre-commit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.test_action_install import no_index

ROOT = Path(__file__).resolve().parents[2]
FREEZE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: FreezeWindow
metadata: {name: audit}
spec: {schedule: {start: "2026-12-24T00:00", timeZone: UTC, duration: DURATION}}
"""
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: placement}
spec: {clusters: [{name: lab}]}
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pre_commit_installs_and_runs_it(tmp_path: Path) -> None:
    if no_index():
        pytest.skip(no_index())
    kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_"))}
    told = {**kept, "PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}

    def run(*command: str | Path, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=cwd, env=told, capture_output=True, text=True, check=False, timeout=800
        )

    source, here = tmp_path / "source", tmp_path / "here"
    listed = run("git", "ls-files", cwd=ROOT).stdout.split()
    for name in listed:
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    for folder in (source, here):
        run("git", "init", "--quiet", folder)
    (here / "intents" / "lab").mkdir(parents=True)
    (here / ".gitbot.yaml").write_text(CONFIGURATION)
    (here / "intents" / "lab" / "audit.yaml").write_text(FREEZE.replace("DURATION", "PT4H"))
    for folder in (source, here):
        run("git", "add", "--all", cwd=folder)
        person = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        assert run("git", *person, "commit", "--quiet", "-m", "one", cwd=folder).returncode == 0
    tried = (sys.executable, "-m", "pre_commit", "try-repo", source, "gitbot-lint", "--all-files")
    clean = run(*tried, cwd=here)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    (here / "intents" / "lab" / "audit.yaml").write_text(FREEZE.replace("DURATION", "soon"))
    found = run(*tried, cwd=here)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "intents/lab/audit.yaml" in found.stdout
