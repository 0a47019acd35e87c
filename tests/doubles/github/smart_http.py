"""Git over HTTP, served by git's own backend; what a push may move is decided here."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.adapters.git.process import hardened_environment
from tests.doubles.github import protection, pushes
from tests.doubles.github.calls import Answer
from tests.doubles.github.problems import Problem
from tests.doubles.github.state import ROLES, Principal, Repository
from tests.doubles.github.storage import NOBODY
from tests.doubles.github.tokens import principal_of

if TYPE_CHECKING:
    from tests.doubles.github.service import GitHub

_PATIENCE = 120  # seconds
_HOOK = """#!/bin/sh
# Says what the service found before git asked.
if [ -n "$GITHUB_REFUSAL" ]; then
  printf '%s\\n' "$GITHUB_REFUSAL" >&2
  exit 1
fi
none=0000000000000000000000000000000000000000
folder=.github/workflows
while read -r old new ref; do
  if [ -n "$GITHUB_WORKFLOWS_FROM" ] && [ "$new" != "$none" ]; then
    base=$(git merge-base "$GITHUB_WORKFLOWS_FROM" "$new" || git hash-object -t tree /dev/null)
    known=$(git ls-tree -r "$base" -- "$folder"; git ls-tree -r "$old" -- "$folder" 2>/dev/null)
    if git ls-tree -r "$new" -- "$folder" | grep -qvxF -e "$known"; then
      echo "error: refusing to allow a GitHub App to create or update a workflow in $folder" >&2
      echo 'without "workflows" permission' >&2
      exit 1
    fi
  fi
  case " $GITHUB_FAST_FORWARD_ONLY " in
    *" $ref "*)
      if ! git merge-base --is-ancestor "$old" "$new"; then
        echo "error: GH006: Cannot force-push to $ref" >&2
        exit 1
      fi ;;
  esac
done
"""


# With or without .git, as on github.com
_PATH = re.compile(r"/([\w.-]+/[\w.-]+?)(?:\.git)?/(info/refs|git-(?:upload|receive)-pack)")


def is_git(path: str) -> bool:
    """Whether a Git client asks."""
    return _PATH.fullmatch(path) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRequest:
    """One request of a Git client."""

    method: str
    path: str
    query: str
    body: bytes
    token: str
    content_type: str
    encoding: str
    protocol: str


def serve(github: GitHub, request: GitRequest) -> Answer:
    """Answer a fetch or a push; a refused ref is refused by a hook, with GitHub's words."""
    found = _PATH.fullmatch(request.path)
    if found is None:
        return Answer(code=404, body="Repository not found.", headers=_TEXT)
    name, service = found.groups()
    repository = github.state.repositories.get(name.lower())
    pushing = "git-receive-pack" in (request.query + service)
    try:
        by = principal_of(github.state, request.token, github.clock.now())
    except Problem:
        return _unauthorized()
    if repository is None:
        return Answer(code=404, body="Repository not found.", headers=_TEXT)
    refused = _refused(github, repository, by, pushing=pushing)
    if refused is not None:
        return refused
    pushes.notice(github)
    commands = _commands(request) if service == "git-receive-pack" else []
    answer = _backend(repository, service, request, by, commands)
    pushes.notice(github, by)
    return answer


_TEXT = {"Content-Type": "text/plain"}


def _unauthorized() -> Answer:
    return Answer(
        code=401,
        body="Authentication failed.",
        headers={**_TEXT, "WWW-Authenticate": 'Basic realm="GitHub"'},
    )


def _refused(
    github: GitHub, repository: Repository, by: Principal, *, pushing: bool
) -> Answer | None:
    if by.kind == "nobody":
        return _unauthorized() if pushing or repository.private else None
    held = dict(by.permissions).get("contents", "none")
    if by.kind == "user":
        rank = ROLES.index(github.role(repository, by.login))
        allowed = rank >= ROLES.index("write" if pushing else "read")
    elif by.kind == "job":
        own = by.repository == repository.full_name
        allowed = own and held == "write" if pushing else (own and held != "none")
        allowed = allowed or (not pushing and not repository.private)
    else:
        allowed = github.installed(by.installation_id, repository) and (
            held == "write" if pushing else held != "none"
        )
    if allowed:
        return None
    text = f"Permission to {repository.full_name}.git denied to {by.login}."
    return Answer(code=403, body=text, headers=_TEXT)


def _refusal(repository: Repository, by: Principal, commands: list[Command]) -> str:
    """Why the whole push is refused; empty where it is not."""
    present = repository.git.refs()
    for old, new, ref in commands:
        if not ref.startswith("refs/heads/"):
            continue
        branch = ref.removeprefix("refs/heads/")
        if present.get(ref, NOBODY) != old:
            continue  # git itself refuses it
        found = protection.refusal_of_push(repository, branch, by=by, old=old, new=new, zero=NOBODY)
        if found is not None:
            return f"error: GH013: Repository rule violations found for {ref}.\n- {found}"
    return ""


def _workflows_from(repository: Repository, by: Principal) -> str:
    """Where a workflow file must come from that this one may not write itself; "" for any."""
    apps = by.kind in ("job", "installation")
    if not apps or dict(by.permissions).get("workflows") == "write":
        return ""
    return repository.git.resolve(f"refs/heads/{repository.default_branch}") or ""


def _fast_forward_only(repository: Repository, by: Principal, commands: list[Command]) -> list[str]:
    """Refs that exist and must only go forward; whether they do is seen when the objects came."""
    heads = "refs/heads/"
    return [
        ref
        for old, new, ref in commands
        if NOBODY not in (old, new)
        and ref.startswith(heads)
        and protection.fast_forward_only(repository, ref.removeprefix(heads), by=by)
    ]


Command = tuple[str, str, str]


def _commands(request: GitRequest) -> list[Command]:
    """What a push asks for: old id, new id, ref. The body starts with these as pkt-lines."""
    body = gzip.decompress(request.body) if request.encoding == "gzip" else request.body
    commands: list[Command] = []
    place = 0
    while place + 4 <= len(body):
        size = int(body[place : place + 4], 16)
        if size == 0:
            break
        line = body[place + 4 : place + size].split(b"\0")[0].decode("utf-8", "replace").strip()
        place += size
        parts = line.split(" ", 2)
        if len(parts) == 3 and len(parts[0]) == len(NOBODY):
            commands.append((parts[0], parts[1], parts[2]))
    return commands


def _backend(
    repository: Repository,
    service: str,
    request: GitRequest,
    by: Principal,
    commands: list[Command],
) -> Answer:
    folder = repository.git.directory
    _install_hook(folder)
    environment = {
        **hardened_environment(),
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_PROJECT_ROOT": str(folder.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{folder.name}/{service}",
        "QUERY_STRING": request.query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.content_type,
        "CONTENT_LENGTH": str(len(request.body)),
        "HTTP_CONTENT_ENCODING": request.encoding,
        "GIT_PROTOCOL": request.protocol,
        "REMOTE_USER": by.login or "anonymous",
        "REMOTE_ADDR": "127.0.0.1",
        "GITHUB_WORKFLOWS_FROM": _workflows_from(repository, by),
        "GITHUB_REFUSAL": _refusal(repository, by, commands),
        "GITHUB_FAST_FORWARD_ONLY": " ".join(_fast_forward_only(repository, by, commands)),
    }
    number = int(environment["GIT_CONFIG_COUNT"])
    environment["GIT_CONFIG_COUNT"] = str(number + 1)  # the later one wins: our own hook runs
    environment[f"GIT_CONFIG_KEY_{number}"] = "core.hooksPath"
    environment[f"GIT_CONFIG_VALUE_{number}"] = str(folder / "hooks")
    finished = subprocess.run(
        ["git", "http-backend"],
        input=request.body,
        env=environment,
        capture_output=True,
        check=False,
        timeout=_PATIENCE,
    )
    return _cgi(finished.stdout)


def _install_hook(folder: Path) -> None:
    hook = folder / "hooks" / "pre-receive"
    if not hook.exists():
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK)
        hook.chmod(0o755)


def _cgi(output: bytes) -> Answer:
    head, _, body = output.partition(b"\r\n\r\n")
    headers: dict[str, str] = {}
    for line in head.decode("latin-1").split("\r\n"):
        key, _, value = line.partition(": ")
        headers[key] = value
    code = int(headers.pop("Status", "200").split()[0])
    return Answer(code=code, body=body, headers=headers)
