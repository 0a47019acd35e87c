"""The rulesets of deploy/github on the GitHub double: who may push what, and how gitbot says it."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.git.process import Access
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import ConflictError, RepositoryError
from tests.doubles.github.scene import REPOSITORY, Scene

FOLDER = Path(__file__).parents[3] / "deploy" / "github"


def ruleset(name: str, app: int) -> dict[str, Any]:
    """The file after the `sed` of its README."""
    text = (FOLDER / name).read_text().replace('_id": 1', f'_id": {app}')
    value: dict[str, Any] = json.loads(text)
    return value


@pytest.fixture
def protected(scene: Scene) -> tuple[Scene, str]:
    """All three rulesets in force, and a token of the App's installation."""
    rights = {"contents": "write", "pull_requests": "write", "checks": "write"}
    app = scene.github.add_app("gitbot", public_key="", permissions=rights, repository=REPOSITORY)
    scene.github.add_collaborator(REPOSITORY, "owner", "admin")
    scene.tokens["owner"] = scene.github.personal_token("owner")
    for path in sorted(FOLDER.glob("*.json")):
        scene.ask("owner", "POST", "~/rulesets", ruleset(path.name, app.id))
    return scene, scene.github.app_token(app)


def mirror(scene: Scene, token: str, folder: Path) -> GitRepository:
    """gitbot's own way into the repository, with somebody's token."""
    scheme, _, host = scene.server.url.partition("://")
    remote = f"{scheme}://x-access-token:{token}@{host}/{REPOSITORY}.git"
    access = Access(configuration={}, protocols="http:https")
    return GitRepository.clone(remote, folder, access=lambda: access)


def write(repository: GitRepository, branch: str, time: int, **more: Any) -> str:
    expected = repository.resolve(branch)
    return repository.write_commit(
        branch=branch,
        expected=more.pop("expected", expected),
        files={"a.jsonl": f"{time}\n".encode()},
        message="entry",
        time=time,
        **more,
    )


@pytest.mark.parametrize(
    "branch", ["gitbot/ledger", "gitbot/snapshot/prod", "gitbot/pull/prod/tidy"]
)
def test_only_the_app_pushes_what_gitbot_keeps(
    protected: tuple[Scene, str], tmp_path: Path, branch: str
) -> None:
    scene, token = protected
    bob = mirror(scene, scene.tokens["bob"], tmp_path / "bob")
    with pytest.raises(RepositoryError, match="the remote refuses to change") as refused:
        write(bob, branch, scene.clock.now())
    assert not isinstance(refused.value, ConflictError)  # nobody was faster: do not try again
    assert "let gitbot's account push gitbot/**" in refused.value.hint
    app = mirror(scene, token, tmp_path / "app")
    write(app, branch, scene.clock.now())
    write(app, branch, scene.clock.now() + 1)


def test_nobody_rewrites_or_deletes_the_ledger_and_the_snapshot_is_replaced(
    protected: tuple[Scene, str], tmp_path: Path
) -> None:
    scene, token = protected
    app = mirror(scene, token, tmp_path / "app")
    for branch in ("gitbot/ledger", "gitbot/snapshot/prod"):
        write(app, branch, scene.clock.now())
    with pytest.raises(RepositoryError, match="the remote refuses"):
        write(app, "gitbot/ledger", scene.clock.now() + 1, orphan=True)
    ledger = app.resolve("gitbot/ledger")
    assert ledger is not None
    with pytest.raises(RepositoryError, match="the remote refuses"):
        app.delete_branch("gitbot/ledger", expected=ledger)
    write(app, "gitbot/snapshot/prod", scene.clock.now() + 1, orphan=True)


def test_the_base_branch_takes_no_push(protected: tuple[Scene, str], tmp_path: Path) -> None:
    scene, token = protected
    for who in (scene.tokens["bob"], token):
        with pytest.raises(RepositoryError, match="the remote refuses"):
            write(mirror(scene, who, tmp_path / who[-6:]), "main", scene.clock.now())


def test_a_rehearsed_push_is_refused_to_somebody_who_may_only_read(
    protected: tuple[Scene, str], tmp_path: Path
) -> None:
    scene, token = protected
    mirror(scene, token, tmp_path / "app").rehearse_push("gitbot/ledger")
    assert "gitbot/ledger" not in scene.git("ls-remote", "@", token=token)[1]
    rita = mirror(scene, scene.tokens["rita"], tmp_path / "rita")
    with pytest.raises(RepositoryError, match="cannot be pushed"):
        rita.rehearse_push("gitbot/ledger")


@pytest.mark.parametrize("rights", [{"statuses": "write"}, {"checks": "write"}])
def test_nobody_else_writes_the_checks_that_a_merge_needs(
    protected: tuple[Scene, str], rights: dict[str, str]
) -> None:
    scene, token = protected
    pull = scene.pull()
    head = pull["head"]["sha"]
    scene.github.add_collaborator(REPOSITORY, "carol", "write")
    carol = scene.github.personal_token("carol")
    scene.ask(carol, "POST", "~/pulls/1/reviews", {"event": "APPROVE"})
    names = ("gitbot/plan", "gitbot/policy")
    fake = scene.github.job_token(REPOSITORY, rights)
    run = {"head_sha": head, "status": "completed", "conclusion": "success"}
    for name in names:
        if "statuses" in rights:
            body = {"context": name, "state": "success"}
            scene.ask(fake, "POST", f"~/statuses/{head}", body)
        else:
            scene.ask(fake, "POST", "~/check-runs", {"name": name, **run})
    code, said = scene.answer(carol, "PUT", "~/pulls/1/merge")
    assert (code, said["message"]) == (405, 'Required status check "gitbot/plan" is expected.')
    for name in names:
        scene.ask(token, "POST", "~/check-runs", {"name": name, **run})
    assert scene.ask(carol, "PUT", "~/pulls/1/merge")["merged"] is True
