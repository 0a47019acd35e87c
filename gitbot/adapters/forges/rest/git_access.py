"""Git's address of a repository on a forge, and its access with the forge's token."""

from __future__ import annotations

import base64
import re
from urllib.parse import urlsplit

from gitbot.adapters.git import Access

# https://host/owner/name(.git), git@host:owner/name(.git), ssh://git@host/owner/name(.git)
_ADDRESS = re.compile(r"(?:https?://|ssh://|git@)(?:[^@/]*@)?([^/:]+)(?::\d+)?[/:](.+)")


def remote_of(web_url: str, repository: str) -> str:
    return f"{web_url}/{repository}.git"


def repository_in(address: str, *, deep: bool = False) -> str:
    """`owner/name` in a remote's address, or more steps if `deep`; "" if it has none."""
    found = _ADDRESS.fullmatch(address.strip())
    if found is None:
        return ""
    path = found.group(2).strip("/").removesuffix(".git")
    steps = path.count("/")
    return path if steps == 1 or (deep and steps > 1) else ""


def token_access(web: str, token: str) -> Access:
    """Git's access to the forge at `web`. The token exists in one process only.

    Redirects are refused: the token is for this host only. Any name before a token suits GitHub,
    Gitea and GitLab.
    """
    pair = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    protocols = "file:https:ssh" + (":http" if urlsplit(web).scheme == "http" else "")
    return Access(
        configuration={
            f"http.{web}/.extraheader": f"Authorization: Basic {pair}",
            "http.followRedirects": "false",
            "credential.helper": "",
        },
        protocols=protocols,
    )
