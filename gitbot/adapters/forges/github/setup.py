"""What GitHub can do, and what `gitbot init` writes for it: workflows, the README's steps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitbot.adapters.forges.forge_type import Choices, ForgeSetup, InitOption
from gitbot.adapters.working_tree import ShippedTexts
from gitbot.ports.forge import ForgeCapabilities

# The workflows below check and show each pull request. A status keeps 140 characters, the text of
# a check 65,535.
CAPABILITIES = ForgeCapabilities(
    own_clock=True,
    plans_by_itself=True,
    status_characters=140,
    text_bytes=65_000,
    files="blob/{commit}",
)

_README = """\
| workflow | when it runs | what it may do |
|---|---|---|
| `plan.yml` | a pull request, forks included; the merge queue | read: no secret, no cluster |
| `show.yml` | after it, with the base branch's code | comment, checks, record of what was shown |
| `apply.yml` | a merge | what is approved and open now |
| `reconcile.yml` | every ten minutes | publish the snapshot, propose, apply |
| `comment.yml` | a comment that begins with `/gitbot` | answer it |

The jobs that reach the cluster read the secret `GITBOT_KUBECONFIG` of the environment
`gitbot-CLUSTER`. `gitbot doctor` says what is missing, and how to put it right.
"""
FOLDER = ".github/workflows"
_SITE = "site.yml"  # it makes public what is in a cluster: only where a person asks for it
_ACTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+@[0-9a-f]{40}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_RUNNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(,[A-Za-z0-9][A-Za-z0-9._-]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubChoices:
    """A person's choices for GitHub.

    `repository` is OWNER/NAME of the intents, `action` OWNER/NAME@COMMIT of a gitbot repository,
    `runs_on` one label, or several with commas, for the jobs that reach the cluster. `site` is yes
    or no: whether a workflow publishes the pages of `gitbot site`.
    """

    repository: str
    action: str
    runs_on: str = "ubuntu-latest"
    base_branch: str = "main"
    site: str = "no"


def _problems(choices: GitHubChoices) -> Iterator[tuple[str, str]]:
    """Each choice that cannot be used, with what was found, what was expected and what to give."""
    from gitbot.settings import is_github_repository  # noqa: PLC0415 - keeps --help quick

    if not is_github_repository(choices.repository):
        expected = "OWNER/NAME: give --repository, such as acme/placement"
        yield "repository", f"found the repository {choices.repository!r}, expected {expected}"
    if not _ACTION.fullmatch(choices.action):
        expected = (
            "OWNER/NAME@COMMIT with a full commit: give --action with the repository that holds "
            "gitbot, pinned: a tag can be moved, a commit cannot (git ls-remote shows it)"
        )
        yield "action", f"found the action {choices.action!r}, expected {expected}"
    if not _RUNNER.fullmatch(choices.runs_on):
        expected = "labels such as self-hosted,linux"
        yield "runs_on", f"found the runner {choices.runs_on!r}, expected {expected}"
    if not _BRANCH.fullmatch(choices.base_branch):
        yield (
            "base_branch",
            f"found the branch {choices.base_branch!r}, expected a name such as main",
        )
    if choices.site not in ("yes", "no"):
        yield "site", f"found the site {choices.site!r}, expected yes or no"


def workflow_files(
    templates: Mapping[str, str], choices: GitHubChoices, *, cluster: str
) -> dict[str, str]:
    """Repository path to text of each workflow. `templates` are those that ship with gitbot."""
    labels = choices.runs_on.split(",")
    words = {
        f"OWNER/gitbot@{'0' * 40}": choices.action,
        "BRANCH": choices.base_branch,
        "CLUSTER": cluster,
        "RUNNER": labels[0] if len(labels) == 1 else json.dumps(labels),
    }
    pattern = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words))
    return {
        f"{FOLDER}/{file}": pattern.sub(lambda found: words[found.group()], text)
        for file, text in templates.items()
        if file != _SITE or choices.site == "yes"
    }


def _settings(given: Choices) -> str:
    choices = GitHubChoices(**given)
    return f"{{type: github, repository: {choices.repository}, baseBranch: {choices.base_branch}}}"


def _files(given: Choices, cluster: str) -> Mapping[str, str]:
    return workflow_files(ShippedTexts().workflows(), GitHubChoices(**given), cluster=cluster)


SETUP = ForgeSetup(
    readme=_README,
    options=(
        InitOption(
            name="repository",
            metavar="OWNER/NAME",
            help="this repository.",
            question="This repository on GitHub (OWNER/NAME)",
        ),
        InitOption(
            name="action",
            metavar="OWNER/NAME@COMMIT",
            help="the repository that holds gitbot, pinned by its full commit.",
            question="The repository that holds gitbot, with its full commit (OWNER/NAME@COMMIT)",
        ),
        InitOption(
            name="runs_on",
            default="ubuntu-latest",
            metavar="LABELS",
            help="the runner that reaches the cluster; several labels with commas.",
        ),
        InitOption(
            name="base_branch",
            default="main",
            metavar="NAME",
            help="the protected branch that the workflows act on.",
        ),
        InitOption(
            name="site",
            default="no",
            metavar="yes|no",
            help="write site.yml too: status, map, history on GitHub Pages, for all readers.",
        ),
    ),
    problems=lambda given: _problems(GitHubChoices(**given)),
    settings=_settings,
    files=_files,
)
