"""Git's own objects: refs, commits, trees, blobs."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from tests.doubles.github import protection, pushes
from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem, missing, not_found
from tests.doubles.github.shapes import git as shapes
from tests.doubles.github.state import JSON, Repository
from tests.doubles.github.storage import NOBODY


def _ref(call: Call) -> JSON:
    repository, name = call.repository, f"refs/{call.parameters['ref']}"
    sha = repository.git.refs().get(name)
    if sha is None:
        raise not_found()
    return shapes.ref(call.links, repository.full_name, name, sha)


def _matching(call: Call) -> list[JSON]:
    repository, start = call.repository, f"refs/{call.parameters['ref']}"
    found = sorted(repository.git.refs().items())
    name = repository.full_name
    return [shapes.ref(call.links, name, ref, sha) for ref, sha in found if ref.startswith(start)]


def _known_commit(repository: Repository, sha: object) -> str:
    if not isinstance(sha, str) or not sha:
        raise missing("Reference", "sha")
    if len(sha) != 40 or not repository.git.exists(sha):
        raise Problem(422, "Object does not exist")
    return sha


def check_push(call: Call, repository: Repository, ref: str, old: str, new: str) -> None:
    """Raise where protection or a ruleset refuses to move a branch."""
    if not ref.startswith("refs/heads/"):
        return
    branch, by = ref.removeprefix("refs/heads/"), call.principal
    refusal = protection.refusal_of_push(repository, branch, by=by, old=old, new=new, zero=NOBODY)
    forced = NOBODY not in (old, new) and not repository.git.is_ancestor(old, new)
    if forced and protection.fast_forward_only(repository, branch, by=by):
        refusal = refusal or "Cannot force-push to this branch"
    if refusal is not None:
        raise Problem(422, f"Repository rule violations found\n\n{refusal}")


def _create_ref(call: Call) -> JSON:
    repository = call.repository
    ref = str(call.body.get("ref") or "")
    if not ref.startswith("refs/") or ref.count("/") < 2:
        raise Problem(422, "Reference name must start with 'refs/' and contain two slashes")
    sha = _known_commit(repository, call.body.get("sha"))
    if ref in repository.git.refs():
        raise Problem(422, "Reference already exists")
    check_push(call, repository, ref, NOBODY, sha)
    repository.git.set_ref(ref, sha, expected="")
    pushes.notice(call.github, call.principal)
    return shapes.ref(call.links, repository.full_name, ref, sha)


def _update_ref(call: Call) -> JSON:
    repository, ref = call.repository, f"refs/{call.parameters['ref']}"
    sha = _known_commit(repository, call.body.get("sha"))
    old = repository.git.refs().get(ref)
    if old is None:
        raise Problem(422, "Reference does not exist")
    if not call.body.get("force") and not repository.git.is_ancestor(old, sha):
        raise Problem(422, "Update is not a fast forward")
    check_push(call, repository, ref, old, sha)
    repository.git.set_ref(ref, sha, expected=old)
    pushes.notice(call.github, call.principal)
    return shapes.ref(call.links, repository.full_name, ref, sha)


def _delete_ref(call: Call) -> Answer:
    repository, ref = call.repository, f"refs/{call.parameters['ref']}"
    old = repository.git.refs().get(ref)
    if old is None:
        raise Problem(422, "Reference does not exist")
    check_push(call, repository, ref, old, NOBODY)
    repository.git.delete_ref(ref)
    pushes.notice(call.github, call.principal)
    return Answer(code=204)


def _commit(call: Call) -> JSON:
    repository, sha = call.repository, call.parameters["commit_sha"]
    if repository.git.kind(sha) != "commit":
        raise not_found()
    return shapes.git_commit(call.links, repository.full_name, repository.git.commit(sha))


def _create_commit(call: Call) -> JSON:
    repository, body = call.repository, call.body
    for name in ("message", "tree"):
        if name not in body:
            raise missing("Commit", name)
    login = call.principal.login
    sha = repository.git.write_commit(
        str(body["tree"]),
        parents=tuple(body.get("parents", ())),
        message=str(body["message"]),
        name=str((body.get("author") or {}).get("name", login)),
        email=str((body.get("author") or {}).get("email", f"{login}@users.noreply.localhost")),
        time=call.now,
    )
    return shapes.git_commit(call.links, repository.full_name, repository.git.commit(sha))


def _tree(call: Call) -> JSON:
    repository, rev = call.repository, call.parameters["tree_sha"]
    sha = repository.git.object_id(f"{rev}^{{tree}}")
    if sha is None:
        raise not_found()
    recursive = bool(call.query.get("recursive"))
    entries = repository.git.tree(sha, recursive=recursive)
    return shapes.tree(call.links, repository.full_name, sha, entries)


def _create_tree(call: Call) -> JSON:
    repository, body = call.repository, call.body
    files: dict[str, bytes | None] = {}
    for item in body.get("tree", ()):
        files[str(item["path"])] = _content(repository, item)
    sha = repository.git.write_tree(body.get("base_tree"), files)
    return shapes.tree(call.links, repository.full_name, sha, repository.git.tree(sha))


def _content(repository: Repository, item: dict[str, Any]) -> bytes | None:
    if "content" in item:
        return str(item["content"]).encode()
    if item.get("sha") is None:
        return None
    return repository.git.blob(str(item["sha"]))


def _blob(call: Call) -> JSON:
    repository, sha = call.repository, call.parameters["file_sha"]
    if repository.git.kind(sha) != "blob":
        raise not_found()
    return shapes.blob(call.links, repository.full_name, sha, repository.git.blob(sha))


def _create_blob(call: Call) -> JSON:
    repository, body = call.repository, call.body
    text = str(body.get("content", ""))
    try:
        data = base64.b64decode(text) if body.get("encoding") == "base64" else text.encode()
    except binascii.Error:
        raise Problem(422, "content is not valid Base64") from None
    sha = repository.git.write_blob(data)
    return {"sha": sha, "url": call.links.repo(repository.full_name, f"/git/blobs/{sha}")}


ROUTES = (
    route("GET", "~/git/ref/{ref}", _ref, "contents:read"),
    route("GET", "~/git/matching-refs/{ref}", _matching, "contents:read"),
    route("POST", "~/git/refs", _create_ref, "contents:write", success=201),
    route("PATCH", "~/git/refs/{ref}", _update_ref, "contents:write"),
    route("DELETE", "~/git/refs/{ref}", _delete_ref, "contents:write"),
    route("GET", "~/git/commits/{commit_sha}", _commit, "contents:read"),
    route("POST", "~/git/commits", _create_commit, "contents:write", success=201),
    route("GET", "~/git/trees/{tree_sha}", _tree, "contents:read"),
    route("POST", "~/git/trees", _create_tree, "contents:write", success=201),
    route("GET", "~/git/blobs/{file_sha}", _blob, "contents:read"),
    route("POST", "~/git/blobs", _create_blob, "contents:write", success=201),
)
