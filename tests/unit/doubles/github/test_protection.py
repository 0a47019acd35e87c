"""Branch protection and rulesets, held at merges, at pushes over HTTP and at writes of refs."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.doubles.github.state import App, Installation
from tests.unit.doubles.github.scene import REPOSITORY, Scene

PROTECTION = {
    "required_status_checks": None,
    "enforce_admins": True,
    "required_pull_request_reviews": {"required_approving_review_count": 1},
    "restrictions": None,
}
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def protect(scene: Scene, **more: Any) -> None:
    scene.github.add_collaborator(REPOSITORY, "owner", "admin")
    scene.tokens["owner"] = scene.github.personal_token("owner")
    scene.ask("owner", "PUT", "~/branches/main/protection", {**PROTECTION, **more})


def message(answer: tuple[int, Any]) -> tuple[int, str]:
    return answer[0], answer[1]["message"]


def test_a_merge_needs_its_approval(scene: Scene) -> None:
    protect(scene)
    scene.pull()
    assert message(scene.answer("bob", "PUT", "~/pulls/1/merge")) == (
        405, "At least 1 approving review is required by reviewers with write access.",
    )  # fmt: skip
    assert scene.ask("bob", "GET", "~/pulls/1")["mergeable_state"] == "blocked"
    scene.ask("rita", "POST", "~/pulls/1/reviews", {"event": "APPROVE"})  # she may only read
    assert scene.answer("bob", "PUT", "~/pulls/1/merge")[0] == 405
    scene.ask("bob", "POST", "~/pulls/1/reviews", {"event": "APPROVE"})
    assert scene.ask("bob", "PUT", "~/pulls/1/merge")["merged"] is True


def test_a_push_dismisses_where_protection_says_so(scene: Scene) -> None:
    reviews = {"required_approving_review_count": 1, "dismiss_stale_reviews": True}
    protect(scene, required_pull_request_reviews=reviews)
    scene.pull()
    scene.ask("bob", "POST", "~/pulls/1/reviews", {"event": "APPROVE"})
    scene.commit("work", {"more": "1"})
    assert scene.answer("bob", "PUT", "~/pulls/1/merge")[0] == 405
    reviews = scene.ask("bob", "GET", "~/pulls/1/reviews")
    assert [review["state"] for review in reviews] == ["DISMISSED"]


def test_a_required_check(scene: Scene) -> None:
    checks = {"strict": False, "contexts": ["gitbot/plan"]}
    protect(scene, required_pull_request_reviews=None, required_status_checks=checks)
    sha = scene.pull()["head"]["sha"]
    steps = [
        (None, 'Required status check "gitbot/plan" is expected.'),
        ("pending", 'Required status check "gitbot/plan" is in progress.'),
        ("failure", 'Required status check "gitbot/plan" is failing.'),
    ]
    for state, said in steps:
        if state:
            status = {"state": state, "context": "gitbot/plan"}
            scene.ask("bob", "POST", f"~/statuses/{sha}", status)
        assert message(scene.answer("bob", "PUT", "~/pulls/1/merge")) == (405, said)
    scene.ask("bob", "POST", f"~/statuses/{sha}", {"state": "success", "context": "gitbot/plan"})
    assert scene.answer("bob", "PUT", "~/pulls/1/merge")[0] == 200


def test_protection_is_shown_to_administrators_only(scene: Scene) -> None:
    protect(scene)
    shown = scene.ask("owner", "GET", "~/branches/main/protection")
    assert shown["required_pull_request_reviews"]["required_approving_review_count"] == 1
    assert scene.answer("bob", "GET", "~/branches/main/protection")[0] == 403
    token = scene.github.job_token(REPOSITORY, {"contents": "write"})
    assert scene.answer(token, "GET", "~/branches/main/protection")[0] == 403
    assert scene.ask(token, "GET", "~/branches/main")["protected"] is True
    scene.ask("owner", "DELETE", "~/branches/main/protection")
    assert message(scene.answer("owner", "GET", "~/branches/main/protection")) == (
        404, "Branch not protected",
    )  # fmt: skip


def clone(scene: Scene, token: str) -> Path:
    folder = scene.folder / "clone"
    code, said = scene.git("clone", "--quiet", "@", str(folder), token=token)
    assert code == 0, said
    (folder / "more.txt").write_text("more\n")
    scene.git("add", ".", cwd=folder)
    scene.git("commit", "--quiet", "--message", "more", cwd=folder)
    return folder


def test_pushes_over_http(scene: Scene) -> None:
    protect(scene)
    folder = clone(scene, scene.tokens["bob"])
    code, said = scene.git("push", "@", "HEAD:main", token=scene.tokens["bob"], cwd=folder)
    assert code != 0
    assert "Changes must be made through a pull request." in said
    assert scene.git("push", "@", "HEAD:work", token=scene.tokens["bob"], cwd=folder)[0] == 0
    assert scene.git("push", "@", "HEAD:other", token=scene.tokens["rita"], cwd=folder)[0] != 0
    read = scene.github.job_token(REPOSITORY, {"contents": "read"})
    assert scene.git("push", "@", "HEAD:other", token=read, cwd=folder)[0] != 0
    write = scene.github.job_token(REPOSITORY, {"contents": "write"})
    assert scene.git("push", "@", "HEAD:other", token=write, cwd=folder)[0] == 0
    events = [(e.name, e.actor, e.by_job) for e in scene.github.events]
    assert ("push", "bob", False) in events
    assert ("push", "github-actions[bot]", True) in events


def test_a_job_writes_no_workflow(scene: Scene) -> None:
    scene.commit("main", {".github/workflows/a.yml": "name: a\n"})
    folder = clone(scene, scene.tokens["bob"])
    token = scene.github.job_token(REPOSITORY, {"contents": "write"})
    assert scene.git("push", "@", "HEAD:one", token=token, cwd=folder)[0] == 0
    (folder / ".github/workflows/a.yml").write_text("name: mine\n")
    scene.git("commit", "--quiet", "--all", "--message", "mine", cwd=folder)
    for target in ("HEAD:one", "HEAD:two"):
        code, said = scene.git("push", "@", target, token=token, cwd=folder)
        assert code != 0
        assert "refusing to allow a GitHub App to create or update a workflow" in said
    assert scene.git("push", "@", "HEAD:one", token=scene.tokens["bob"], cwd=folder)[0] == 0


def test_forced_pushes_to_a_protected_branch(scene: Scene) -> None:
    protect(scene, required_pull_request_reviews=None)
    folder = clone(scene, scene.tokens["bob"])
    scene.git("commit", "--quiet", "--amend", "--message", "else", cwd=folder)
    scene.git("push", "@", "HEAD:main", token=scene.tokens["bob"], cwd=folder)
    scene.git("commit", "--quiet", "--amend", "--message", "again", cwd=folder)
    token = scene.tokens["bob"]
    code, said = scene.git("push", "--force", "@", "HEAD:main", token=token, cwd=folder)
    assert code != 0
    assert "Cannot force-push to refs/heads/main" in said


def installed(scene: Scene) -> tuple[App, Installation]:
    public = KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    permissions = {"contents": "write", "pull_requests": "write", "checks": "write"}
    app = scene.github.add_app(
        "gitbot", owner="acme", public_key=public.decode(), permissions=permissions
    )
    return app, scene.github.install(app, "acme", REPOSITORY)


def signed(scene: Scene, app: App, *, since: int = -30, until: int = 500) -> str:
    now = scene.clock.now()
    return jwt.encode({"iat": now + since, "exp": now + until, "iss": str(app.id)}, KEY, "RS256")


def test_an_app_gets_a_token_for_an_hour(scene: Scene) -> None:
    app, installation = installed(scene)
    token = signed(scene, app)
    assert scene.ask(token, "GET", "/app")["slug"] == "gitbot"
    assert scene.ask(token, "GET", "~/installation")["id"] == installation.id
    where = f"/app/installations/{installation.id}/access_tokens"
    made = scene.ask(token, "POST", where, {})
    assert made["permissions"]["checks"] == "write"
    assert scene.answer(made["token"], "GET", "~")[0] == 200
    assert scene.ask(made["token"], "GET", "/installation/repositories")["total_count"] == 1
    scene.clock.sleep(3600)
    assert scene.answer(made["token"], "GET", "~")[0] == 401


@pytest.mark.parametrize(("since", "until"), [(-600, -10), (-30, 3600), (600, 900)])
def test_json_web_tokens_that_are_refused(scene: Scene, since: int, until: int) -> None:
    app, _ = installed(scene)
    assert scene.answer(signed(scene, app, since=since, until=until), "GET", "/app")[0] == 401


def test_a_ruleset_lets_only_the_app_push(scene: Scene) -> None:
    app, installation = installed(scene)
    protect(scene)
    ruleset = {
        "name": "only the bot",
        "target": "branch",
        "enforcement": "active",
        "bypass_actors": [
            {"actor_id": app.id, "actor_type": "Integration", "bypass_mode": "always"}
        ],
        "conditions": {"ref_name": {"include": ["refs/heads/gitbot/**/*"], "exclude": []}},
        "rules": [{"type": "creation"}, {"type": "update"}, {"type": "deletion"}],
    }
    made = scene.ask("owner", "POST", "~/rulesets", ruleset)
    sha = scene.commit("free", {"a": "1"})
    ref = {"ref": "refs/heads/gitbot/ledger", "sha": sha}
    code, said = message(scene.answer("bob", "POST", "~/git/refs", ref))
    assert (code, "Cannot create this ref due to repository rules" in said) == (422, True)
    where = f"/app/installations/{installation.id}/access_tokens"
    token = scene.ask(signed(scene, app), "POST", where, {})["token"]
    assert scene.ask(token, "POST", "~/git/refs", ref)["object"]["sha"] == sha
    folder = clone(scene, scene.tokens["bob"])
    target = "HEAD:gitbot/pull/a"
    code, said = scene.git("push", "@", target, token=scene.tokens["bob"], cwd=folder)
    assert code != 0
    assert "Cannot create this ref due to repository rules" in said
    assert scene.git("push", "@", target, token=token, cwd=folder)[0] == 0
    rules = scene.ask("bob", "GET", "~/rules/branches/gitbot%2Fledger")
    assert [rule["type"] for rule in rules] == ["creation", "update", "deletion"]
    assert scene.ask("bob", "GET", f"~/rulesets/{made['id']}")["name"] == "only the bot"
    assert scene.ask("bob", "GET", "~/rules/branches/main") == []


def test_files_by_the_api_meet_the_same_rules(scene: Scene) -> None:
    content = base64.b64encode(b"new\n").decode()
    body = {"message": "m", "content": content}
    made = scene.ask("bob", "PUT", "~/contents/a/new.txt", body)
    assert made["content"]["path"] == "a/new.txt"
    shown = scene.ask("bob", "GET", "~/contents/a/new.txt")
    assert base64.b64decode(shown["content"]) == b"new\n"
    listed = scene.ask("bob", "GET", "~/contents/a")
    assert [entry["path"] for entry in listed] == ["a/new.txt"]
    assert scene.answer("bob", "PUT", "~/contents/a/new.txt", body)[0] == 422
    stale = {**body, "sha": "0" * 40}
    assert scene.answer("bob", "PUT", "~/contents/a/new.txt", stale)[0] == 409
    protect(scene)
    refused = scene.answer("bob", "PUT", "~/contents/b", body)
    assert "Changes must be made through a pull request." in message(refused)[1]
