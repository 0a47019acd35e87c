"""A remote whose URL holds a token is named without it."""

from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.forges.local import connect
from gitbot.adapters.git import Access, Git, commit_tree
from gitbot.errors import GitbotError
from gitbot.wiring import workspace
from tests.doubles import canaries
from tests.doubles.serving import serving

TOKEN = canaries.plant("canary-51bd")
CONFIGURATION = """apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
spec:
  clusters: [{name: iberia}]
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.mark.parametrize("branch", ["main", "other"])
def test_its_token_is_not_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branch: str
) -> None:
    monkeypatch.setattr(connect, "no_access", lambda: Access(protocols="http"))
    bare, clone = Git(tmp_path / "intents.git"), Git(tmp_path / "clone" / ".git")
    for made in (bare, clone):
        made.directory.mkdir(parents=True)
        made.run(["init", "--bare", "--quiet", "--template="])
    tree = bare.run(["mktree"]).decode().strip()
    commit = commit_tree(
        bare, tree, parents=(), message="one", name="ann", email="a@example", time=7
    )
    bare.run(["update-ref", "refs/heads/main", commit])
    bare.run(["update-server-info"])
    root = tmp_path / "clone"
    (root / ".gitbot.yaml").write_text(f"{CONFIGURATION}  forge: {{baseBranch: {branch}}}\n")
    files = partial(_Quiet, directory=str(tmp_path))  # all that Git needs to read a repository
    with serving(files) as port:
        url = f"http://ann:{TOKEN}@127.0.0.1:{port}/intents.git"
        (clone.directory / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')
        with pytest.raises(GitbotError, match="has no") as refused, workspace.open_workspace(root):
            pass
    assert "intents.git" in str(refused.value)
    assert TOKEN not in str(refused.value)
