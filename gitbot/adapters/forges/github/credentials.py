"""gitbot's credentials on GitHub: read from the environment, never printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gitbot.adapters.environment import is_url, read_file, secret
from gitbot.errors import UsageError

PUBLIC_API = "https://api.github.com"
TOKEN = "GITBOT_GITHUB_TOKEN"  # noqa: S105 - the name of a variable
APP_ID = "GITBOT_GITHUB_APP_ID"
APP_KEY = "GITBOT_GITHUB_APP_KEY"
APP_KEY_FILE = "GITBOT_GITHUB_APP_KEY_FILE"
INSTALLATION = "GITBOT_GITHUB_APP_INSTALLATION_ID"
ACCOUNT = "GITBOT_GITHUB_ACCOUNT"
API_URL = "GITHUB_API_URL"
ACTIONS_ACCOUNT = "github-actions[bot]"
# Enterprise Cloud with data residency: the API beside the pages, not below them
_DATA_RESIDENCY = re.compile(r"https://api\.([a-z0-9-]+\.ghe\.com)", re.IGNORECASE)
# https://github.blog/engineering/behind-githubs-new-authentication-token-formats
_CLASSIC = ("ghp_", "gho_")
_FINE_GRAINED = ("github_pat_", "ghu_")
_INSTALLATION = ("ghs_",)


class CredentialKind(StrEnum):
    """Who acts. Only APP and ACTIONS may write check runs."""

    APP = "GitHub App"
    ACTIONS = "GITHUB_TOKEN of Actions"
    CLASSIC = "classic personal token"
    FINE_GRAINED = "fine-grained personal token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """One way to act. `token` or `app_key` is a secret and is left out of repr.

    `account` is the login that acts, "" if GitHub has to be asked; `installation` is 0 if it has to
    be looked up.
    """

    kind: CredentialKind
    api_url: str
    token: str = field(default="", repr=False)
    app_id: str = ""
    app_key: str = field(default="", repr=False)
    installation: int = 0
    account: str = ""

    @property
    def writes_checks(self) -> bool:
        return self.kind in (CredentialKind.APP, CredentialKind.ACTIONS)

    @property
    def web_url(self) -> str:
        if self.api_url == PUBLIC_API:
            return "https://github.com"
        resident = _DATA_RESIDENCY.fullmatch(self.api_url)
        if resident is not None:
            return f"https://{resident[1]}"
        return self.api_url.removesuffix("/api/v3")


def read_credentials(
    environment: Mapping[str, str], *, read: Callable[[str], str] = read_file
) -> Credentials:
    """The credentials of an environment: an App first, then gitbot's token, then Actions'.

    Raises UsageError that says what to set. It never contains a secret.
    """
    api_url = (environment.get(API_URL) or PUBLIC_API).rstrip("/")
    if not is_url(api_url):
        raise UsageError(f"{API_URL} is not a URL", hint=f"expected one such as {PUBLIC_API}")
    account = environment.get(ACCOUNT, "")
    if environment.get(APP_ID):
        return _app(environment, api_url, read)
    token = secret(environment, TOKEN, read)
    token = token or environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN") or ""
    if not token.strip():
        raise UsageError(
            "gitbot has nothing to act with on GitHub",
            hint=f"set {APP_ID} and {APP_KEY_FILE} for a GitHub App, or GITHUB_TOKEN",
        )
    kind = _kind(token.strip(), environment)
    if kind is CredentialKind.ACTIONS and not account:
        account = ACTIONS_ACCOUNT
    return Credentials(kind=kind, api_url=api_url, token=token.strip(), account=account)


def _app(environment: Mapping[str, str], api_url: str, read: Callable[[str], str]) -> Credentials:
    key = secret(environment, APP_KEY, read)
    if not key:
        raise UsageError(
            f"{APP_ID} is set without a key", hint=f"set {APP_KEY_FILE} to the App's .pem file"
        )
    if "PRIVATE KEY" not in key:
        raise UsageError(
            "the key of the GitHub App is not a private key in PEM format",
            hint="download it on the App's page: it begins with -----BEGIN",
        )
    installation = environment.get(INSTALLATION) or "0"
    if not installation.isdecimal():
        raise UsageError(f"{INSTALLATION} is not a number")
    return Credentials(
        kind=CredentialKind.APP,
        api_url=api_url,
        app_id=environment[APP_ID],
        app_key=key,
        installation=int(installation),
        account=environment.get(ACCOUNT, ""),
    )


def _kind(token: str, environment: Mapping[str, str]) -> CredentialKind:
    if token.startswith(_INSTALLATION):
        return CredentialKind.ACTIONS
    if token.startswith(_FINE_GRAINED):
        return CredentialKind.FINE_GRAINED
    if token.startswith(_CLASSIC):
        return CredentialKind.CLASSIC
    # older servers give tokens without a prefix: those of a job are the job's own
    actions = environment.get("GITHUB_ACTIONS") == "true"
    return CredentialKind.ACTIONS if actions else CredentialKind.CLASSIC
