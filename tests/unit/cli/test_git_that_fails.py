"""Without Git, or with one that fails, gitbot names the machine, not itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", ""], ids=["fails", "is absent"])
def test_a_git_that_does_not_run_is_no_bug(tmp_path: Path, text: str) -> None:
    programs, folder = tmp_path / "bin", tmp_path / "here"
    programs.mkdir()
    folder.mkdir()
    (folder / ".gitbot.yaml").write_text(
        "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"
        "metadata: {name: default}\nspec: {clusters: [{name: prod}]}\n"
    )
    for name in ("env", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    if text:
        (programs / "git").write_text(text)
        (programs / "git").chmod(0o755)
    finished = subprocess.run(
        [sys.executable, "-m", "gitbot", "status"],
        cwd=folder,
        env={**os.environ, "PATH": str(programs), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 2, finished.stderr
    assert finished.stderr.startswith("error: Git does not run: ")
    assert "install git 2.38 or newer" in finished.stderr
    assert "bug" not in finished.stderr
