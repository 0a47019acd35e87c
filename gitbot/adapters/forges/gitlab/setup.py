"""What GitLab can do, and what `gitbot init` writes for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gitbot.adapters.forges.forge_type import Choices, ForgeSetup, InitOption
from gitbot.adapters.working_tree import ShippedTexts
from gitbot.ports.forge import ForgeCapabilities

CAPABILITIES = ForgeCapabilities(own_clock=True, codeowners="gitlab", files="-/blob/{commit}")

_README = """\
`.gitlab-ci.yml` has gitbot's jobs:

| job | when it runs | what it may do |
|---|---|---|
| `plan` | a merge request | read: no secret, no cluster |
| `show` | a webhook for merge requests | notes, statuses, record of what was shown |
| `apply` | a merge | what is approved and open now |
| `reconcile` | a schedule, every ten minutes | publish the snapshot, show, propose, apply |
| `comment` | a webhook for notes | answer those that begin with `/gitbot` |

All but `plan` run this file of the base branch. gitbot acts with a token of its own account. Give
that account the role Developer in this project, and the token the scope `api`. Protect the base
branch.
Make `GITBOT_GITLAB_TOKEN` and `GITBOT_KUBECONFIG` *protected* variables: else every pipeline of a
merge request gets them. `gitbot doctor` says what is missing.
"""
FILE = ".gitlab-ci.yml"
_ADDRESS = re.compile(r"https?://[^\s/@?#\"\\\\]+(/[^\s@?#\"\\\\]*)?")
_IMAGE = re.compile(r"[a-z0-9][\w.:/-]*(@sha256:[0-9a-f]{64})?", re.ASCII)
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")


def _problems(given: Choices) -> Iterator[tuple[str, str]]:
    from gitbot.settings import is_gitlab_repository  # noqa: PLC0415 - keeps --help quick

    if not _ADDRESS.fullmatch(given["address"]):
        expected = "the server's, such as https://git.example.org: give --address"
        yield "address", f"found the address {given['address']!r}, expected {expected}"
    if not is_gitlab_repository(given["repository"]):
        expected = "GROUP/PROJECT: give --repository, such as acme/placement"
        found = f"found the repository {given['repository']!r}"
        yield "repository", f"{found}, expected {expected}"
    if not _IMAGE.fullmatch(given["image"]):
        expected = "the image that has gitbot: give --image (deploy/Containerfile builds one)"
        yield "image", f"found the image {given['image']!r}, expected {expected}"
    if not _BRANCH.fullmatch(given["base_branch"]):
        found = f"found the branch {given['base_branch']!r}"
        yield "base_branch", f"{found}, expected a name such as main"


def pipelines(given: Choices, cluster: str) -> Mapping[str, str]:
    """The text of the file with gitbot's jobs, by its path."""
    words = {
        "ADDRESS": given["address"],
        "IMAGE": given["image"],
        "BRANCH": given["base_branch"],
        "CLUSTER": cluster,
    }
    (text,) = ShippedTexts().workflows("gitlab").values()
    return {FILE: re.sub(r"\b(ADDRESS|IMAGE|BRANCH|CLUSTER)\b", lambda at: words[at[0]], text)}


def _settings(given: Choices) -> str:
    address, name = given["address"], given["repository"]
    branch = given["base_branch"]
    return f"{{type: gitlab, address: {address}, repository: {name}, baseBranch: {branch}}}"


SETUP = ForgeSetup(
    readme=_README,
    options=(
        InitOption(
            name="address",
            metavar="URL",
            help="the address of the server.",
            question="The address of GitLab (https://git.example.org)",
        ),
        InitOption(
            name="repository",
            metavar="GROUP/PROJECT",
            help="this project on GitLab.",
            question="This project on GitLab (GROUP/PROJECT)",
        ),
        InitOption(
            name="image",
            metavar="IMAGE",
            help="the container image that has gitbot.",
            question="The container image that has gitbot",
        ),
        InitOption(
            name="base_branch",
            default="main",
            metavar="NAME",
            help="the protected branch of the intents.",
        ),
    ),
    problems=_problems,
    settings=_settings,
    files=pipelines,
)
