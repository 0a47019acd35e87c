"""What Gitea can do, and what `gitbot init` writes for it."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.adapters.forges.forge_type import Choices, ForgeSetup, InitOption
from gitbot.ports.forge import ForgeCapabilities

CAPABILITIES = ForgeCapabilities(own_clock=True, codeowners="gitea", files="src/commit/{commit}")

_README = """\
gitbot acts with a token of its own account. Give that account write access to this repository, and
the token the scopes `write:repository`, `write:issue` and `read:user`. Protect the base branch.

```
export GITBOT_GITEA_TOKEN_FILE=/run/secrets/gitbot-token
gitbot doctor                                        # says what is missing
gitbot check --pull-request N --publish              # shows a pull request's plan
gitbot propose && gitbot apply                       # every ten minutes, by cron or a runner
```
"""


def _problems(given: Choices) -> Iterator[tuple[str, str]]:
    from gitbot.settings import is_gitea_repository  # noqa: PLC0415 - keeps --help quick

    if not given["address"].startswith(("http://", "https://")):
        expected = "the server's, such as https://git.example.org: give --address"
        yield "address", f"found the address {given['address']!r}, expected {expected}"
    if not is_gitea_repository(given["repository"]):
        expected = "OWNER/NAME: give --repository, such as acme/placement"
        found = f"found the repository {given['repository']!r}"
        yield "repository", f"{found}, expected {expected}"


def _settings(given: Choices) -> str:
    address, name = given["address"], given["repository"]
    branch = given["base_branch"]
    return f"{{type: gitea, address: {address}, repository: {name}, baseBranch: {branch}}}"


SETUP = ForgeSetup(
    readme=_README,
    options=(
        InitOption(
            name="address",
            metavar="URL",
            help="the address of the server.",
            question="The address of Gitea (https://git.example.org)",
        ),
        InitOption(
            name="repository",
            metavar="OWNER/NAME",
            help="this repository on Gitea.",
            question="This repository on Gitea (OWNER/NAME)",
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
)
