"""How Git gets into a GitHub repository: over HTTPS with the token that the API takes too."""

from __future__ import annotations

import base64
import re
from urllib.parse import urlsplit

from gitbot.adapters.forges.github.api import Api
from gitbot.adapters.git.process import Access

# https://host/owner/name(.git), git@host:owner/name(.git), ssh://git@host/owner/name(.git)
_ADDRESS = re.compile(r"(?:https?://|ssh://|git@)(?:[^@/]*@)?([^/:]+)(?::\d+)?[/:](.+)")


def remote_of(web_url: str, repository: str) -> str:
    """The address of a repository to clone from; the credentials are not in it."""
    return f"{web_url}/{repository}.git"


def repository_in(address: str) -> str:
    """`owner/name` of a remote's address; "" where it is none."""
    found = _ADDRESS.fullmatch(address.strip())
    if found is None:
        return ""
    path = found.group(2).strip("/").removesuffix(".git")
    return path if path.count("/") == 1 else ""


def access_of(api: Api) -> Access:
    """What Git commands that talk to this GitHub get; the token lives in one process only.

    A redirect is refused: the token is for this host alone.
    """
    web = api.credentials.web_url
    pair = base64.b64encode(f"x-access-token:{api.token()}".encode()).decode()
    protocols = "file:https:ssh" + (":http" if urlsplit(web).scheme == "http" else "")
    return Access(
        configuration={
            f"http.{web}/.extraheader": f"Authorization: Basic {pair}",
            "http.followRedirects": "false",
            "credential.helper": "",
        },
        protocols=protocols,
    )
