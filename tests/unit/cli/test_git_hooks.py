"""gitbot in a Git hook: hooks set GIT_DIR and its like, and a person's branches are theirs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.action.stage import a_clone, git

HOOK = "#!/bin/sh\nexec {python} -m gitbot {command} >{log} 2>&1\n"
COMMANDS = ("status", "doctor", "ledger show", "propose", "lint", "lint --rev HEAD")


def branches(clone: Path) -> str:
    return git(clone, "for-each-ref", "--format=%(refname) %(objectname)")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("linked", [True, False], ids=["linked work tree", "clone"])
def test_a_hook_changes_no_branch_of_the_person(tmp_path: Path, command: str, linked: bool) -> None:
    clone, log = a_clone(tmp_path), tmp_path / "log"
    git(clone, "branch", "only-here")
    work = tmp_path / "linked" if linked else clone
    if linked:
        git(clone, "switch", "--quiet", "--detach")  # Git itself refuses what is checked out
        git(clone, "worktree", "add", "--quiet", "-b", "topic", str(work))
    hook = clone / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK.format(python=sys.executable, command=command, log=log))
    hook.chmod(0o755)
    before = branches(clone)
    line = ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.com"]
    line += ["commit", "--quiet", "--allow-empty", "-m", "Anything"]
    root = Path(__file__).parents[3]
    subprocess.run(line, cwd=work, env={**os.environ, "PYTHONPATH": str(root)}, check=True)
    made = git(work, "rev-parse", "HEAD").strip()
    tip = "refs/heads/topic" if linked else "refs/heads/main"
    expected = [f"{tip} {made}" if row.startswith(tip + " ") else row for row in before.split("\n")]
    assert branches(clone).split("\n") == expected, log.read_text()
    assert "git fetch failed" not in log.read_text()
    assert "not a git repository" not in log.read_text()
