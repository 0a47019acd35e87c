"""Commits, refs, trees, blobs, files, comparisons."""

from __future__ import annotations

import base64
from urllib.parse import quote

from tests.doubles.github.links import Links, node_id, time_text
from tests.doubles.github.state import JSON, Repository
from tests.doubles.github.storage import CommitFacts, FileChange, TreeEntry

_UNSIGNED = {
    "verified": False,
    "reason": "unsigned",
    "signature": None,
    "payload": None,
    "verified_at": None,
}


def _person(who: tuple[str, str, int]) -> JSON:
    return {"name": who[0], "email": who[1], "date": time_text(who[2])}


def git_commit(links: Links, name: str, commit: CommitFacts) -> JSON:
    """A commit of the Git database."""
    return {
        "sha": commit.sha,
        "node_id": node_id("C", commit.sha),
        "url": links.repo(name, f"/git/commits/{commit.sha}"),
        "html_url": links.page(name, f"/commit/{commit.sha}"),
        "author": _person(commit.author),
        "committer": _person(commit.committer),
        "tree": {
            "sha": commit.tree,
            "url": links.repo(name, f"/git/trees/{commit.tree}"),
        },
        "message": commit.message,
        "parents": [
            {
                "sha": parent,
                "url": links.repo(name, f"/git/commits/{parent}"),
                "html_url": links.page(name, f"/commit/{parent}"),
            }
            for parent in commit.parents
        ],
        "verification": dict(_UNSIGNED),
    }


def commit(links: Links, name: str, facts: CommitFacts) -> JSON:
    """A commit of the repository's history. No e-mail address belongs to an account here."""
    bare = git_commit(links, name, facts)
    return {
        "url": links.repo(name, f"/commits/{facts.sha}"),
        "sha": facts.sha,
        "node_id": bare["node_id"],
        "html_url": bare["html_url"],
        "comments_url": links.repo(name, f"/commits/{facts.sha}/comments"),
        "commit": {
            "url": bare["url"],
            "author": bare["author"],
            "committer": bare["committer"],
            "message": facts.message,
            "comment_count": 0,
            "tree": bare["tree"],
            "verification": bare["verification"],
        },
        "author": None,
        "committer": None,
        "parents": [
            {**parent, "url": links.repo(name, f"/commits/{parent['sha']}")}
            for parent in bare["parents"]
        ],
    }


def simple_commit(facts: CommitFacts) -> JSON:
    """A commit as runs and pushes carry it."""
    return {
        "id": facts.sha,
        "tree_id": facts.tree,
        "message": facts.message,
        "timestamp": time_text(facts.committer[2]),
        "author": {"name": facts.author[0], "email": facts.author[1]},
        "committer": {"name": facts.committer[0], "email": facts.committer[1]},
    }


def ref(links: Links, name: str, full: str, sha: str) -> JSON:
    """A Git reference."""
    return {
        "ref": full,
        "node_id": node_id("REF", full),
        "url": links.repo(name, f"/git/{quote(full)}"),
        "object": {
            "type": "commit",
            "sha": sha,
            "url": links.repo(name, f"/git/commits/{sha}"),
        },
    }


def tree(links: Links, name: str, sha: str, entries: list[TreeEntry]) -> JSON:
    """A Git tree."""
    return {
        "sha": sha,
        "url": links.repo(name, f"/git/trees/{sha}"),
        "truncated": False,
        "tree": [
            {
                "path": entry.path,
                "mode": entry.mode,
                "type": entry.kind,
                "sha": entry.sha,
                **({"size": entry.size} if entry.size is not None else {}),
                "url": links.repo(name, f"/git/{entry.kind}s/{entry.sha}"),
            }
            for entry in entries
        ],
    }


def blob(links: Links, name: str, sha: str, data: bytes) -> JSON:
    """A Git blob in base64."""
    return {
        "sha": sha,
        "node_id": node_id("B", sha),
        "url": links.repo(name, f"/git/blobs/{sha}"),
        "size": len(data),
        "content": wrapped(data),
        "encoding": "base64",
    }


def wrapped(data: bytes) -> str:
    """Base64 in lines, as GitHub sends it."""
    return base64.encodebytes(data).decode("ascii")


def entry(links: Links, repository: Repository, path: str, where: str, item: TreeEntry) -> JSON:
    """A file or folder at a commit, without its content."""
    name = repository.full_name
    kind = {"tree": "dir", "blob": "file", "commit": "submodule"}[item.kind]
    if item.mode == "120000":
        kind = "symlink"
    here = links.repo(name, f"/contents/{quote(path)}?ref={quote(where)}")
    git = links.repo(name, f"/git/{item.kind}s/{item.sha}")
    html = links.page(name, f"/{'tree' if kind == 'dir' else 'blob'}/{where}/{quote(path)}")
    return {
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": item.sha,
        "size": item.size or 0,
        "url": here,
        "html_url": html,
        "git_url": git,
        "download_url": None if kind == "dir" else links.page(name, f"/raw/{where}/{quote(path)}"),
        "type": kind,
        "_links": {"self": here, "git": git, "html": html},
    }


def file_change(
    links: Links, name: str, head: str, change: FileChange, patch: str | None = None
) -> JSON:
    """One file of a diff."""
    quoted = quote(change.path)
    return {
        "sha": change.sha,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": links.page(name, f"/blob/{head}/{quoted}"),
        "raw_url": links.page(name, f"/raw/{head}/{quoted}"),
        "contents_url": links.repo(name, f"/contents/{quoted}?ref={head}"),
        **({"patch": patch} if patch else {}),
    }
