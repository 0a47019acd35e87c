"""Credentials: which ones win, what they may do, and that they are never printed."""

import base64

import pytest

from gitbot.adapters.forges.github.connect import open_github
from gitbot.adapters.forges.github.credentials import (
    CredentialKind,
    Credentials,
    read_credentials,
)
from gitbot.adapters.forges.rest.git_access import remote_of, repository_in
from gitbot.errors import UsageError
from tests.unit.adapters.github.scripted import FakeClock

CANARY = "canary0123456789"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----\n"
FILES = {"/token": f"github_pat_{CANARY}\n", "/key.pem": PEM}

KINDS: list[tuple[dict[str, str], CredentialKind, str]] = [
    ({"GITHUB_TOKEN": f"ghs_{CANARY}"}, CredentialKind.ACTIONS, "github-actions[bot]"),
    ({"GITHUB_TOKEN": f"ghp_{CANARY}"}, CredentialKind.CLASSIC, ""),
    ({"GH_TOKEN": f"github_pat_{CANARY}"}, CredentialKind.FINE_GRAINED, ""),
    ({"GITHUB_TOKEN": CANARY, "GITHUB_ACTIONS": "true"}, CredentialKind.ACTIONS,
     "github-actions[bot]"),
    ({"GITHUB_TOKEN": CANARY}, CredentialKind.CLASSIC, ""),
    ({"GITBOT_GITHUB_TOKEN_FILE": "/token", "GITHUB_TOKEN": "ghs_x"},
     CredentialKind.FINE_GRAINED, ""),
    ({"GITBOT_GITHUB_TOKEN": f"ghs_{CANARY}", "GITBOT_GITHUB_ACCOUNT": "acme[bot]"},
     CredentialKind.ACTIONS, "acme[bot]"),
    ({"GITBOT_GITHUB_APP_ID": "7", "GITBOT_GITHUB_APP_KEY_FILE": "/key.pem",
      "GITHUB_TOKEN": "ghs_x"}, CredentialKind.APP, ""),
    ({"GITBOT_GITHUB_APP_ID": "7", "GITBOT_GITHUB_APP_KEY": PEM}, CredentialKind.APP, ""),
]  # fmt: skip


@pytest.mark.parametrize(("environment", "kind", "account"), KINDS)
def test_what_an_environment_gives(
    environment: dict[str, str], kind: CredentialKind, account: str
) -> None:
    found = read_credentials(environment, read=FILES.__getitem__)
    assert (found.kind, found.account) == (kind, account)
    assert found.writes_checks is (kind in (CredentialKind.APP, CredentialKind.ACTIONS))
    assert CANARY not in f"{found} {found!r}"


def _no_file(path: str) -> str:
    raise FileNotFoundError(2, "No such file or directory", path)


NOTHING: list[tuple[dict[str, str], str]] = [
    ({}, "has nothing to act with"),
    ({"GITHUB_TOKEN": " "}, "has nothing to act with"),
    ({"GITBOT_GITHUB_APP_ID": "7"}, "is set without a key"),
    ({"GITBOT_GITHUB_APP_ID": "7", "GITBOT_GITHUB_APP_KEY": CANARY}, "not a private key in PEM"),
    ({"GITBOT_GITHUB_APP_ID": "7", "GITBOT_GITHUB_APP_KEY": PEM,
      "GITBOT_GITHUB_APP_INSTALLATION_ID": "x"}, "is not a number"),
    ({"GITBOT_GITHUB_TOKEN_FILE": "/gone"}, "/gone cannot be read: No such file"),
]  # fmt: skip


@pytest.mark.parametrize(("environment", "message"), NOTHING)
def test_what_is_missing_is_said_without_a_secret(
    environment: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_credentials(environment, read=_no_file)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("api", "web"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://github.corp.example/api/v3", "https://github.corp.example"),
        ("https://api.acme-eu.ghe.com", "https://acme-eu.ghe.com"),
        ("https://api.acme.ghe.com.evil.example", "https://api.acme.ghe.com.evil.example"),
    ],
)
def test_where_the_pages_of_a_github_are(api: str, web: str) -> None:
    found = Credentials(kind=CredentialKind.CLASSIC, api_url=api)
    assert found.web_url == web
    assert remote_of(found.web_url, "acme/placement") == f"{web}/acme/placement.git"


@pytest.mark.parametrize(
    ("address", "repository"),
    [
        ("https://github.com/acme/placement.git", "acme/placement"),
        ("https://github.com/acme/placement", "acme/placement"),
        ("https://x:y@github.com/acme/placement/", "acme/placement"),
        ("git@github.com:acme/placement.git", "acme/placement"),
        ("ssh://git@github.com:22/acme/placement.git", "acme/placement"),
        ("../forge.git", ""),
        ("/srv/git/placement.git", ""),
    ],
)
def test_the_repository_of_a_remote(address: str, repository: str) -> None:
    assert repository_in(address) == repository


def test_git_gets_the_token_through_its_environment_only() -> None:
    opened = open_github(
        named="acme/placement",
        origin="",
        base_branch="main",
        clock=FakeClock(),
        environment={"GITHUB_TOKEN": f"ghs_{CANARY}"},
    )
    access = opened.access()
    pair = base64.b64encode(f"x-access-token:ghs_{CANARY}".encode()).decode()
    assert access.configuration["http.https://github.com/.extraheader"].endswith(pair)
    assert access.configuration["http.followRedirects"] == "false"
    assert access.protocols == "file:https:ssh"
    for text in (repr(access), repr(opened), opened.remote, repr(opened.forge.api)):
        assert CANARY not in text
        assert pair not in text


@pytest.mark.parametrize("named", ["acme", "acme/placement/x", "../x", "a b/c", "origin"])
def test_a_repository_has_an_owner_and_a_name(named: str) -> None:
    environment = {"GITHUB_TOKEN": "ghs_x"}
    with pytest.raises(UsageError, match="GitHub"):
        open_github(
            named=named, origin="", base_branch="main", clock=FakeClock(), environment=environment
        )


@pytest.mark.parametrize("url", ["nonsense", "http://", "https://a:b", "https://[::1"])
def test_an_api_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="GITHUB_API_URL is not a URL"):
        read_credentials({"GITHUB_API_URL": url, "GITHUB_TOKEN": "ghs_x"})
