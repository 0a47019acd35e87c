"""The GitHub workflows that `gitbot init --forge github` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gitbot.documents.formats import is_github_repository
from gitbot.errors import UsageError

FOLDER = ".github/workflows"
_ACTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+@[0-9a-f]{40}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_RUNNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(,[A-Za-z0-9][A-Za-z0-9._-]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubChoices:
    """What a person chose for GitHub.

    `repository` is OWNER/NAME of the intents, `action` OWNER/NAME@COMMIT of a gitbot repository,
    `runner` one label or several with commas for the jobs that reach the cluster.
    """

    repository: str
    action: str
    runner: str = "ubuntu-latest"
    branch: str = "main"


def check_choices(choices: GitHubChoices) -> None:
    """Raise UsageError for what no workflow could be written with."""
    if not is_github_repository(choices.repository):
        raise UsageError(
            f"found the repository {choices.repository!r}, expected OWNER/NAME",
            hint="give --repository, such as acme/placement",
        )
    if not _ACTION.fullmatch(choices.action):
        raise UsageError(
            f"found the action {choices.action!r}, expected OWNER/NAME@COMMIT with a full commit",
            hint="give --action with the repository that holds gitbot, pinned: a tag can be moved, "
            "a commit cannot (git ls-remote shows it)",
        )
    if not _RUNNER.fullmatch(choices.runner):
        raise UsageError(
            f"found the runner {choices.runner!r}, expected labels such as self-hosted,linux"
        )
    if not _BRANCH.fullmatch(choices.branch):
        raise UsageError(f"found the branch {choices.branch!r}, expected a name such as main")


def workflow_files(
    templates: Mapping[str, str], choices: GitHubChoices, *, cluster: str
) -> dict[str, str]:
    """Repository path to text of each workflow. `templates` are those that ship with gitbot."""
    name, _, commit = choices.action.partition("@")
    labels = choices.runner.split(",")
    action = "gitbot/.github/actions/gitbot@"
    words = {
        f"OWNER/{action}{'0' * 40}": f"{name}/{action.partition('/')[2]}{commit}",
        "BRANCH": choices.branch,
        "CLUSTER": cluster,
        "RUNNER": labels[0] if len(labels) == 1 else json.dumps(labels),
    }
    pattern = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words))
    return {
        f"{FOLDER}/{file}": pattern.sub(lambda found: words[found.group()], text)
        for file, text in templates.items()
    }
