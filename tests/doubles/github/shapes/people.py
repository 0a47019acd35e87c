"""Accounts, Apps, repositories, labels."""

from __future__ import annotations

from urllib.parse import quote

from tests.doubles.github.links import Links, node_id, time_text
from tests.doubles.github.state import JSON, Account, App, Label, Repository, State

_USER_PATHS = {
    "events_url": "/events{/privacy}",
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "organizations_url": "/orgs",
    "received_events_url": "/received_events",
    "repos_url": "/repos",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
}
_REPOSITORY_PATHS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def user(links: Links, account: Account) -> JSON:
    """A simple user."""
    name = quote(account.login)
    here = f"{links.api}/users/{name}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": node_id("U", account.id),
        "avatar_url": f"{links.html}/avatars/u/{account.id}",
        "gravatar_id": "",
        "url": here,
        "html_url": f"{links.html}/{name}",
        **{key: here + path for key, path in _USER_PATHS.items()},
        "type": account.kind,
        "user_view_type": "public",
        "site_admin": False,
    }


def public_user(links: Links, account: Account, *, now: int) -> JSON:
    """A user as `GET /user` answers."""
    empty = dict.fromkeys(("bio", "blog", "company", "email", "hireable", "location", "name"))
    counts = dict.fromkeys(("followers", "following", "public_gists", "public_repos"), 0)
    return {
        **user(links, account),
        **empty,
        **counts,
        "created_at": time_text(now),
        "updated_at": time_text(now),
    }


def app(links: Links, state: State, which: App | None) -> JSON | None:
    """A GitHub App ("integration"); None stays None."""
    if which is None:
        return None
    return {
        "id": which.id,
        "slug": which.slug,
        "client_id": f"Iv1.{which.id:016x}",
        "node_id": node_id("A", which.id),
        "owner": user(links, state.accounts[which.owner]),
        "name": which.slug,
        "description": None,
        "external_url": links.html,
        "html_url": f"{links.html}/apps/{which.slug}",
        "created_at": time_text(0),
        "updated_at": time_text(0),
        "permissions": dict(which.permissions),
        "events": [],
    }


def label(links: Links, full_name: str, which: Label) -> JSON:
    """A label."""
    return {
        "id": which.id,
        "node_id": node_id("LA", which.id),
        "url": links.repo(full_name, f"/labels/{quote(which.name, safe='')}"),
        "name": which.name,
        "description": which.description or None,
        "color": which.color,
        "default": False,
    }


def minimal_repository(links: Links, state: State, repository: Repository) -> JSON:
    """A repository as other objects carry it."""
    name = repository.full_name
    return {
        "id": repository.id,
        "node_id": node_id("R", repository.id),
        "name": repository.name,
        "full_name": name,
        "owner": user(links, state.accounts[repository.owner]),
        "private": repository.private,
        "html_url": links.page(name),
        "description": None,
        "fork": bool(repository.parent),
        "url": links.repo(name),
        **{key: links.repo(name, path) for key, path in _REPOSITORY_PATHS.items()},
    }


def repository(
    links: Links, state: State, repository: Repository, *, role: str = "read", full: bool = False
) -> JSON:
    """A repository; `full` as its own address answers it."""
    name = repository.full_name
    options = repository.options
    open_issues = sum(1 for issue in repository.issues.values() if issue.state == "open")
    rank = ("none", "read", "triage", "write", "maintain", "admin").index(role)
    names = ("pull", "triage", "push", "maintain", "admin")
    return {
        **minimal_repository(links, state, repository),
        "clone_url": links.page(name, ".git"),
        "git_url": links.page(name, ".git").replace("https:", "git:").replace("http:", "git:"),
        "ssh_url": f"ssh://git@localhost/{name}.git",
        "svn_url": links.page(name),
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "default_branch": repository.default_branch,
        "visibility": "private" if repository.private else "public",
        "topics": [],
        "archived": options.archived,
        "disabled": False,
        **dict.fromkeys(("has_issues", "has_projects", "has_wiki", "has_downloads"), True),
        "has_pages": False,
        "has_discussions": False,
        "is_template": False,
        "web_commit_signoff_required": False,
        "size": 0,
        "forks": 0,
        "forks_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "stargazers_count": 0,
        "open_issues": open_issues,
        "open_issues_count": open_issues,
        "allow_forking": True,
        "created_at": time_text(repository.created),
        "updated_at": time_text(repository.created),
        "pushed_at": time_text(repository.created),
        "permissions": {key: rank >= place for place, key in enumerate(names, start=1)},
        **(_full(repository) if full else {}),
    }


def _full(repository: Repository) -> JSON:
    options = repository.options
    return {
        "network_count": 0,
        "subscribers_count": 0,
        "allow_merge_commit": options.merge_commit,
        "allow_squash_merge": options.squash,
        "allow_rebase_merge": options.rebase,
        "allow_auto_merge": options.auto_merge,
        "allow_update_branch": False,
        "delete_branch_on_merge": options.delete_branch_on_merge,
    }
