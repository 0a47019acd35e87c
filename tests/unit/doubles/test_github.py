"""Rules of the GitHub double without which gitbot's own tests would pass without testing anything.

Gitbot's tests hold everything else: the contract of the Forge port, bad days, rulesets, stories.
"""

import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from gitbot.errors import InvalidInput
from tests.doubles.github import Fault, Trouble
from tests.doubles.github.scene import REPOSITORY, Scene
from tests.doubles.github.workflows import fill, is_due

ONCE = {"body": "once"}
COMMENTS = f"/repos/{REPOSITORY}/issues/1/comments"
ON_PUSH = "name: a\non: push\njobs: {a: {runs-on: x}}\n"


def send(scene: Scene, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
    """One request over HTTP; raises if the connection closes without an answer."""
    connection = http.client.HTTPConnection(scene.server.url.partition("://")[2], timeout=30)
    try:
        sent = {"Authorization": f"Bearer {scene.tokens['bob']}"}
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def bodies(scene: Scene) -> list[str]:
    return [comment["body"] for comment in scene.ask("bob", "GET", "~/issues/1/comments")]


@pytest.mark.parametrize(
    ("trouble", "code", "done"),
    [
        (Trouble.REFUSE, 502, []),
        (Trouble.LOSE, 502, ["once"]),
        (Trouble.SECONDARY, 403, []),
        (Trouble.PRIMARY, 403, []),
        (Trouble.NO_JSON, 201, ["once"]),
        (Trouble.DROP, 0, []),
        (Trouble.DROP_AFTER, 0, ["once"]),
    ],
)
def test_a_write_in_trouble(
    scene: Scene,
    trouble: Trouble,
    code: int,
    done: list[str],
) -> None:
    scene.pull()
    scene.github.faults.append(Fault(trouble=trouble, method="POST", path=".*/comments"))
    try:
        assert send(scene, "POST", COMMENTS, ONCE)[0] == code
    except http.client.RemoteDisconnected:
        assert code == 0
    assert bodies(scene) == done
    assert send(scene, "POST", COMMENTS, ONCE)[0] == 201  # once only


def test_a_read_that_is_behind(scene: Scene) -> None:
    scene.pull()
    stale = Fault(trouble=Trouble.STALE, path=".*/comments", skip=1, times=2)
    scene.github.faults.append(stale)
    send(scene, "GET", COMMENTS)
    send(scene, "POST", COMMENTS, ONCE)
    seen = [len(json.loads(send(scene, "GET", COMMENTS)[1])) for _ in range(3)]
    assert (seen, stale.met) == ([0, 0, 1], 2)


def test_what_is_not_there_is_loud(scene: Scene) -> None:
    code, answer = scene.answer("bob", "GET", "~/nothing/of/the/kind")
    assert (code, "knows no such operation" in answer["message"]) == (501, True)
    with pytest.raises(InvalidInput, match="beyond the GitHub double"):
        fill("${{ github.ref == 'main' }}", {})
    with pytest.raises(InvalidInput, match="beyond the GitHub double"):
        is_due("0 4 * * *", 0, 60)
    scene.commit("main", {".github/workflows/a.yml": ON_PUSH.replace("push", "deployment")})
    with pytest.raises(InvalidInput, match="beyond the GitHub double"):
        scene.ask("bob", "GET", "~")


def test_what_a_job_pushes_starts_nothing_and_is_no_workflow(
    scene: Scene,
) -> None:
    folder: Path = scene.folder / "clone"
    scene.commit("main", {".github/workflows/a.yml": ON_PUSH})
    scene.git("clone", "--quiet", "@", str(folder), token=scene.tokens["bob"])
    runs = scene.github.repository(REPOSITORY).runs
    token = scene.github.job_token(REPOSITORY, {"contents": "write"})
    before = len(runs)
    assert scene.git("push", "@", "HEAD:one", token=token, cwd=folder)[0] == 0
    assert len(runs) == before
    (folder / ".github/workflows/a.yml").write_text(ON_PUSH + "# mine\n")
    scene.git("commit", "--quiet", "--all", "--message", "mine", cwd=folder)
    for target in ("HEAD:one", "HEAD:two"):
        code, said = scene.git("push", "@", target, token=token, cwd=folder)
        assert code != 0
        assert "refusing to allow a GitHub App to create or update a workflow" in said
    assert scene.git("push", "@", "HEAD:one", token=scene.tokens["bob"], cwd=folder)[0] == 0
    assert len(runs) == before + 1
