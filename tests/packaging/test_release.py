"""The release: its workflow is safe, and what it types works here."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = ROOT / ".github" / "workflows" / "release.yml"
TEXT = FILE.read_text("utf-8")
(JOB,) = yaml.safe_load(TEXT)["jobs"].values()


def test_zizmor_finds_nothing() -> None:
    zizmor = Path(sys.executable).parent / "zizmor"
    found = subprocess.run(
        [str(zizmor), "--offline", "--no-progress", "--quiet", str(FILE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_every_action_is_pinned_by_its_digest() -> None:
    uses = re.findall(r"uses: (.+)", TEXT)
    assert len(uses) == 3
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use) for use in uses)


def test_the_builder_is_pinned_and_an_environment_lets_it_begin() -> None:
    (image,) = (step["env"]["BUILDER"] for step in JOB["steps"] if step.get("id") == "image")
    assert re.fullmatch(r"moby/buildkit:v\d+\.\d+\.\d+@sha256:[0-9a-f]{64}", image)
    assert JOB["environment"] == "release"


@pytest.mark.parametrize(("tagged", "code"), [("main", 0), ("other", 1)])
def test_only_commits_of_main_are_released(tmp_path: Path, tagged: str, code: int) -> None:
    def git(*words: str, cwd: Path) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        done = subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    there, here = tmp_path / "there", tmp_path / "here"
    git("init", "--quiet", "--initial-branch=main", str(there), cwd=tmp_path)
    git("commit", "--quiet", "--allow-empty", "-m", "one", cwd=there)
    git("checkout", "--quiet", "-b", "other", cwd=there)
    git("commit", "--quiet", "--allow-empty", "-m", "two", cwd=there)
    git("clone", "--quiet", str(there), str(here), cwd=tmp_path)
    (step,) = (step["run"] for step in JOB["steps"] if "is-ancestor" in step.get("run", ""))
    told = {
        "GITHUB_SHA": git("rev-parse", f"origin/{tagged}", cwd=here),
        "MAIN": "main",
        "TAG": "v1.2.3",
    }
    done = subprocess.run(["bash", "-euc", step], cwd=here, env={**os.environ, **told}, check=False)
    assert done.returncode == code


def test_wheel_sdist_sbom_and_image_are_attested() -> None:
    subjects = [step["with"] for step in JOB["steps"] if "attest" in step.get("uses", "")]
    assert subjects[0] == {"subject-path": "dist/*"}
    assert set(subjects[1]) == {"subject-name", "subject-digest"}
    assert '> "dist/gitbot-$version.cdx.json"' in TEXT
    assert "--file deploy/Containerfile" in TEXT


def test_what_it_builds_has_the_name_of_the_version(tmp_path: Path) -> None:
    hatchling = [sys.executable, "-m", "hatchling"]
    version = subprocess.run(
        [*hatchling, "version"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    subprocess.run(
        [*hatchling, "build", "-d", str(tmp_path)], cwd=ROOT, capture_output=True, check=True
    )
    built = {path.name for path in tmp_path.iterdir()}
    assert built == {
        f"kubevirt_gitbot-{version}-py3-none-any.whl",
        f"kubevirt_gitbot-{version}.tar.gz",
    }


def test_what_it_builds_names_its_documentation(tmp_path: Path) -> None:
    """So that each rule of a SARIF file links to the page of that very release."""
    tree = tmp_path / "tree"
    for name in ("gitbot", "policies", "templates", "docs/reference"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    (step,) = (step["run"] for step in JOB["steps"] if "hatchling build" in step.get("run", ""))
    told = {
        "GITHUB_SERVER_URL": "https://forge.example",
        "GITHUB_REPOSITORY": "acme/gitbot",
        "TAG": "v1.2.3",
    }
    own = [line for line in step.splitlines() if "RUNNER_TEMP" not in line and "sbom" not in line]
    hatchling = f"{sys.executable} -m hatchling build -t wheel -d {tmp_path}"
    build = "\n".join(["version=1.2.3", *own, hatchling])
    subprocess.run(["bash", "-euc", build], cwd=tree, env={**os.environ, **told}, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("kubevirt_gitbot-1.2.3-")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        said = packed.read(name).decode()
    address = "https://forge.example/acme/gitbot/blob/v1.2.3/docs"
    assert f"Project-URL: Documentation, {address}\n" in said


def test_the_sbom_is_the_lock() -> None:
    asked: list[str | Path] = [ROOT / ".ci/sbom", "1.2.3"]
    bom = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    lock = (ROOT / "requirements" / "runtime.txt").read_text("utf-8")
    listed = [f"{item['name']}=={item['version']}" for item in bom["components"]]
    pinned = re.findall(r"^([a-z0-9._-]+)(?:\[[^]]+\])?(==[^ ;\\]+)", lock, re.MULTILINE)
    assert listed == [name + version for name, version in pinned]
    hashes = sum(len(item["hashes"]) for item in bom["components"])
    assert hashes == lock.count("--hash=sha256:")
    me = bom["metadata"]["component"]
    assert (me["name"], me["version"]) == ("kubevirt-gitbot", "1.2.3")
