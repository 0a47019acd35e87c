"""Files, commits and comparisons."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import quote

from tests.doubles.github import pushes
from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem, missing, not_found
from tests.doubles.github.routes.git_data import check_push
from tests.doubles.github.shapes import git as shapes
from tests.doubles.github.state import JSON, Repository
from tests.doubles.github.storage import NOBODY


def _commit_at(call: Call, rev: str) -> tuple[Repository, str]:
    repository = call.repository
    sha = repository.git.resolve(rev)
    if sha is None:
        raise Problem(404, f"No commit found for the ref {rev}")
    return repository, sha


def _get(call: Call) -> Any:
    where = call.query.get("ref") or call.repository.default_branch
    repository, sha = _commit_at(call, where)
    path = call.parameters["path"].strip("/")
    git = repository.git
    kind = git.kind(f"{sha}:{path}")
    raw = "raw" in call.request.headers.get("accept", "")
    if kind == "blob":
        data = git.blob(f"{sha}:{path}")
        if raw:
            return Answer(body=data, headers={"Content-Type": "application/vnd.github.raw"})
        item = next(e for e in git.tree(f"{sha}:{_folder(path)}") if e.path == path.split("/")[-1])
        shown = shapes.entry(call.links, repository, path, where, item)
        return {**shown, "encoding": "base64", "content": shapes.wrapped(data)}
    if kind == "tree":
        start = f"{path}/" if path else ""
        return [
            shapes.entry(call.links, repository, start + item.path, where, item)
            for item in git.tree(f"{sha}:{path}")
        ]
    raise not_found()


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _put(call: Call) -> Answer:
    body, path = call.body, call.parameters["path"]
    for name in ("message", "content"):
        if name not in body:
            raise missing("Content", name)
    try:
        data = base64.b64decode(str(body["content"]), validate=False)
    except binascii.Error:
        raise Problem(422, "content is not valid Base64") from None
    new = call.repository.git.object_id(f"{_branch(call)}:{path}") is None
    commit = _change(call, path, data)
    repository = call.repository
    item = next(
        entry
        for entry in repository.git.tree(f"{commit}:{_folder(path)}")
        if entry.path == path.split("/")[-1]
    )
    shown = shapes.entry(call.links, repository, path, _branch(call), item)
    facts = repository.git.commit(commit)
    answer = {
        "content": shown,
        "commit": shapes.git_commit(call.links, repository.full_name, facts),
    }
    return Answer(code=201 if new else 200, body=answer)


def _delete(call: Call) -> JSON:
    commit = _change(call, call.parameters["path"], None)
    facts = call.repository.git.commit(commit)
    return {
        "content": None,
        "commit": shapes.git_commit(call.links, call.repository.full_name, facts),
    }


def _branch(call: Call) -> str:
    return str(call.body.get("branch") or call.repository.default_branch)


def _change(call: Call, path: str, data: bytes | None) -> str:
    repository, body = call.repository, call.body
    git, branch = repository.git, _branch(call)
    old = git.resolve(f"refs/heads/{branch}")
    if old is None:
        raise Problem(404, f"Branch {branch} not found")
    present = git.object_id(f"{old}:{path}")
    if present is not None and not body.get("sha"):
        raise Problem(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if present != (body.get("sha") or None):
        raise Problem(409, f"{path} does not match {body.get('sha')}")
    login = call.principal.login
    commit = git.write_commit(
        git.write_tree(old, {path: data}),
        parents=(old,),
        message=str(body["message"]),
        name=login,
        email=f"{login}@users.noreply.localhost",
        time=call.now,
    )
    ref = f"refs/heads/{branch}"
    check_push(call, repository, ref, old, commit)
    git.set_ref(ref, commit, expected=old)
    pushes.notice(call.github, call.principal)
    return commit


def _commits(call: Call) -> Answer:
    rev = call.query.get("sha") or call.repository.default_branch
    repository, sha = _commit_at(call, rev)
    listed = repository.git.commits(include=sha, path=call.query.get("path", ""))
    return call.page([shapes.commit(call.links, repository.full_name, c) for c in listed])


def _commit(call: Call) -> JSON:
    repository, rev = call.repository, call.parameters["ref"]
    sha = repository.git.resolve(rev)
    if sha is None:
        raise Problem(422, f"No commit found for SHA: {rev}")
    facts = repository.git.commit(sha)
    changes = repository.git.changes(facts.parents[0], sha) if facts.parents else []
    name = repository.full_name
    added, removed = sum(c.additions for c in changes), sum(c.deletions for c in changes)
    return {
        **shapes.commit(call.links, name, facts),
        "stats": {"additions": added, "deletions": removed, "total": added + removed},
        "files": [shapes.file_change(call.links, name, sha, change) for change in changes],
    }


def _compare(call: Call) -> JSON:
    base_name, dots, head_name = call.parameters["basehead"].partition("...")
    if not dots:
        raise not_found()
    repository, base = _commit_at(call, base_name)
    _, head = _commit_at(call, head_name)
    git, name = repository.git, repository.full_name
    start = git.merge_base(base, head)
    if start is None:
        raise Problem(404, f"No common ancestor between {base_name} and {head_name}.")
    ahead, behind = git.count(include=head, exclude=base), git.count(include=base, exclude=head)
    words = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    listed = git.commits(include=head, exclude=base)
    here = quote(f"{base_name}...{head_name}")
    page = call.links.page(name, f"/compare/{here}")
    return {
        "url": call.links.repo(name, f"/compare/{here}"),
        "html_url": page,
        "permalink_url": call.links.page(name, f"/compare/{base[:12]}...{head[:12]}"),
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": shapes.commit(call.links, name, git.commit(base)),
        "merge_base_commit": shapes.commit(call.links, name, git.commit(start)),
        "status": words.get((ahead > 0, behind > 0), "diverged"),
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": len(listed),
        "commits": [shapes.commit(call.links, name, c) for c in reversed(listed)],
        "files": [
            shapes.file_change(call.links, name, head, change)
            for change in git.changes(start, head)
        ],
    }


def _pulls_of_commit(call: Call) -> Answer:
    from tests.doubles.github.shapes import pulls  # noqa: PLC0415 - keeps the imports in order

    repository, sha = call.repository, call.parameters["commit_sha"]
    found = []
    for _, pull in sorted(repository.pulls.items()):
        contains = repository.git.is_ancestor(sha, pull.head)
        inside = contains and not repository.git.is_ancestor(sha, f"{pull.base}^{{commit}}")
        if inside or (pull.merged and pull.merge_commit == sha):
            found.append(pull)
    return call.page([pulls.pull(call.links, call.state, repository, p) for p in found])


def _merge_branches(call: Call) -> Any:
    repository, body = call.repository, call.body
    git, base, head = repository.git, str(body.get("base")), str(body.get("head"))
    old, other = git.resolve(f"refs/heads/{base}"), git.resolve(head)
    if old is None or other is None:
        raise Problem(404, "Base does not exist" if old is None else "Head does not exist")
    if git.is_ancestor(other, old):
        return Answer(code=204)
    tree = git.merged_tree(old, other)
    if tree is None:
        raise Problem(409, "Merge conflict")
    commit = git.write_commit(
        tree,
        parents=(old, other),
        message=str(body.get("commit_message") or f"Merge {head} into {base}"),
        name=call.principal.login,
        email=f"{call.principal.login}@users.noreply.localhost",
        time=call.now,
    )
    check_push(call, repository, f"refs/heads/{base}", old, commit)
    git.set_ref(f"refs/heads/{base}", commit, expected=old)
    pushes.notice(call.github, call.principal)
    assert commit != NOBODY
    return shapes.commit(call.links, repository.full_name, git.commit(commit))


ROUTES = (
    route("GET", "~/contents/{path}", _get, "contents:read"),
    route("PUT", "~/contents/{path}", _put, "contents:write"),
    route("DELETE", "~/contents/{path}", _delete, "contents:write"),
    route("GET", "~/commits", _commits, "contents:read"),
    route("GET", "~/commits/{ref}", _commit, "contents:read"),
    route("GET", "~/commits/{commit_sha}/pulls", _pulls_of_commit, "pull_requests:read"),
    route("GET", "~/compare/{basehead}", _compare, "contents:read"),
    route("POST", "~/merges", _merge_branches, "contents:write", success=201),
)
