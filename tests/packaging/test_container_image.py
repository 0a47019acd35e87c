"""The image's recipe: what it copies is there, and its steps give a gitbot that runs.

No engine is needed: the steps of the build stage are typed into a folder that holds what the
engine would be given. The second stage is packages of the distribution and names.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.packaging.test_action_install import no_index

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
PREFIX = "/opt/gitbot"


def instructions() -> list[tuple[str, str]]:
    """Word and rest of each instruction, with continued lines joined."""
    joined = TEXT.replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]


def given() -> list[str]:
    """The paths that an engine is given: everything is left out but these."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "*" in lines
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def holds(paths: list[str], name: str) -> bool:
    return any(name == path or name.startswith(f"{path}/") for path in paths)


def test_what_the_engine_is_given_is_there_and_is_what_the_package_needs() -> None:
    for path in given():
        assert (ROOT / path).exists(), path
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = [
        *wheel["packages"],
        *wheel["force-include"],
        *project["project"]["license-files"],
        project["project"]["readme"],
        "pyproject.toml",
        "requirements/runtime.txt",
    ]
    for path in needed:
        assert holds(given(), path), path


def test_what_is_copied_comes_from_the_checkout_or_from_the_stage_before() -> None:
    copies = [rest for word, rest in instructions() if word in ("COPY", "ADD")]
    assert copies
    for rest in copies:
        *sources, _ = rest.split()
        if sources[0].startswith("--from="):
            stage = sources.pop(0).partition("=")[2]
            assert re.search(rf"^FROM .* AS {stage}$", TEXT, re.MULTILINE)
            made = " ".join(rest for word, rest in instructions() if word == "RUN")
            assert all(source in made for source in sources)
        else:
            assert all((ROOT / source).exists() for source in sources)


def test_the_pod_starts_where_its_configuration_lies() -> None:
    (where,) = (rest for word, rest in instructions()[::-1] if word == "WORKDIR" and rest != "/src")
    deployment = (ROOT / "deploy" / "watch" / "deployment.yaml").read_text("utf-8")
    assert f"workingDir: {where}\n" in deployment
    assert f"mountPath: {where}/.gitbot.yaml" in deployment


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_steps_give_a_gitbot_that_the_entry_point_starts(tmp_path: Path) -> None:
    if no_index():
        pytest.skip(no_index())
    source, root = tmp_path / "src", tmp_path / "root"
    for path in given():
        target = source / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(
                ROOT / path, target, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True
            )
        else:
            shutil.copy(ROOT / path, target)
    (step, *_), prefix = [rest for word, rest in instructions() if word == "RUN"], root / "opt"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    built = subprocess.run(
        ["sh", "-e", "-c", step.replace(PREFIX, str(prefix))],
        cwd=source,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    words = {word: rest for word, rest in instructions() if word in ("ENTRYPOINT", "CMD")}
    line = [*json.loads(words["ENTRYPOINT"]), *json.loads(words["CMD"])]
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = subprocess.run(
        line,
        cwd=empty,
        env={"PATH": f"{prefix}/bin", "HOME": str(empty), "LC_ALL": "C.UTF-8"},
        executable=str(prefix / "bin" / line[0]),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("gitbot ")
