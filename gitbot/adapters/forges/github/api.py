"""Requests to GitHub's REST API: PyGithub signs and sends them.

PyGithub's own pauses and retries are off: with them, one lost response to the POST of a comment
creates eleven comments (PyGithub 2.10.0, GithubRetry).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gitbot.adapters.authorities import trusted_file
from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.refusals import refused
from gitbot.adapters.forges.rest.api import TIMEOUT, RestApi
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.errors import ForgeError
from gitbot.ports.clock import Clock

API_VERSION = "2022-11-28"
Send = Callable[..., tuple[int, dict[str, Any], str]]


@dataclass(slots=True, kw_only=True)
class GitHubApi(RestApi):
    """One account's access to one GitHub."""

    credentials: Credentials
    secret: Callable[[], str] = field(default=lambda: "", repr=False)

    @classmethod
    def of(
        cls,
        credentials: Credentials,
        *,
        clock: Clock,
        send: Send,
        secret: Callable[[], str] = lambda: "",
    ) -> GitHubApi:
        """`send` is PyGithub's requestJson, or a stand-in."""
        return cls(
            name="GitHub",
            setting="GITHUB_API_URL",
            accept="application/vnd.github+json",
            page_size="per_page",
            credentials=credentials,
            clock=clock,
            send=_sending(send),
            secret=secret,
            refused=refused,
        )

    @classmethod
    def connect(cls, credentials: Credentials, clock: Clock) -> GitHubApi:
        """Sign with PyGithub. Sends no request, except that an App looks up its installation."""
        requester = _requester(credentials)
        return cls.of(
            credentials,
            clock=clock,
            send=requester.requestJson,
            secret=lambda: str(requester.auth.token),
        )

    def token(self) -> str:
        """The token to push with. An App's token is renewed before it expires after an hour."""
        try:
            return self.secret()
        except Exception as error:
            raise _unsigned(error) from error


def _sending(send: Send) -> Send:
    def sent(*arguments: Any, **named: Any) -> tuple[int, dict[str, Any], str]:
        try:
            return send(*arguments, **named)
        except RuntimeError as error:  # PyGithub follows no redirect to another host or scheme
            raise ForgeError(
                f"GitHub sends gitbot elsewhere: {error}", hint="check GITHUB_API_URL"
            ) from error
        except OSError:  # requests' family of lost connections and timeouts
            raise
        except Exception as error:  # PyGithub's and PyJWT's families, while signing
            raise _unsigned(error) from error

    return sent


def _unsigned(error: Exception) -> ForgeError:
    """A failure to create an App's token, without its text, which may contain secrets."""
    status = getattr(error, "status", 0)
    if isinstance(status, int) and status:
        return RestRefusal(
            f"GitHub gives the App no token ({status})",
            status=status,
            said="",
            hint="check App id, key and installation; an owner may have suspended the App",
        )
    return ForgeError(
        f"the App's key signs nothing: {type(error).__name__}",
        hint="the key must be the App's private key in PEM format",
    )


def _requester(credentials: Credentials) -> Any:
    from github import Auth, Github  # noqa: PLC0415 - a heavy client, used by one forge only

    options: dict[str, Any] = {
        "base_url": credentials.api_url,
        "timeout": TIMEOUT,
        "verify": trusted_file() or True,
        "user_agent": "gitbot",
        "retry": None,  # requests' default: no retries at all
        "seconds_between_requests": 0,
        "seconds_between_writes": 0,
        "api_version": API_VERSION,
    }
    if credentials.kind is not CredentialKind.APP:
        return Github(auth=Auth.Token(credentials.token), **options).requester
    app = Auth.AppAuth(credentials.app_id, credentials.app_key)
    if not credentials.installation:
        return Github(auth=app, **options).requester
    return Github(auth=app.get_installation_auth(credentials.installation), **options).requester
