"""What OpenSSF Scorecard checks and a working tree can show, as far as it needs no network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = [ROOT / "action.yml"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
TRACKED = subprocess.run(
    ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split("\0")[:-1]
BAD_INPUT = "tests/unit/intents/bad_input/"  # texts with NUL, in UTF-16
_PLAIN = {".png", ".svg", ".gz"}  # pictures, and recordings of what servers said


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.name)
def test_dangerous_workflow_and_token_permissions(file: Path) -> None:
    """No job of a pull request has a secret; a job has only the rights that it names."""
    text = file.read_text("utf-8")
    workflow = yaml.safe_load(text)
    triggers = workflow.get("on", workflow.get(True))
    assert not {"pull_request_target", "workflow_run"} & set(triggers)
    assert workflow["permissions"] == {}
    assert all("permissions" in job for job in workflow["jobs"].values())
    if "pull_request" in triggers:
        assert "secrets." not in text
        granted = [job["permissions"] for job in workflow["jobs"].values()]
        assert all(set(rights.values()) <= {"read"} for rights in granted)


@pytest.mark.parametrize(
    "file", [*OURS, *ACTIONS], ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_pinned_dependencies_of_workflows(file: Path) -> None:
    for use in re.findall(r"uses: (\S+)", file.read_text("utf-8")):
        assert use.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use), use


def test_security_policy_and_dependency_update_tool() -> None:
    assert "Report a vulnerability" in (ROOT / "SECURITY.md").read_text("utf-8")
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))["updates"]
    assert {each["package-ecosystem"] for each in updates} == {"github-actions", "pip"}


def test_zizmor_finds_nothing_in_any_workflow() -> None:
    zizmor = Path(sys.executable).parent / "zizmor"
    options = ["--offline", "--no-progress", "--quiet"]
    found = subprocess.run(
        [str(zizmor), *options, *map(str, [*OURS, *ACTIONS])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.stem)
def test_pinned_dependencies_of_packages(file: Path) -> None:
    """Each package has one version for each Python, and hashes."""
    lines = file.read_text("utf-8").replace("\\\n", " ").splitlines()
    packages = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert packages
    for line in packages:
        assert re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==\S+ ", line), line
        assert "--hash=sha256:" in line, line


def test_binary_artifacts() -> None:
    """Nothing that is run without being built from here."""
    suspicious = []
    for name in TRACKED:
        path = ROOT / name
        if name.startswith(BAD_INPUT):
            continue
        if path.suffix not in _PLAIN and path.is_file() and b"\0" in path.read_bytes()[:4096]:
            suspicious.append(name)
    assert suspicious == []


def test_license_and_signed_releases() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    assert "attest-build-provenance@" in release or "attest@" in release
    assert ".cdx.json" in release
