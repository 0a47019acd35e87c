"""Git over HTTP, served by git's own backend; what a push may move is decided here."""

import gzip
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from gitbot.adapters.git.process import hardened_environment
from tests.doubles.github import merging, protection
from tests.doubles.github.calls import Answer
from tests.doubles.github.core import Core
from tests.doubles.github.problems import Problem
from tests.doubles.github.state import Principal, Repository
from tests.doubles.github.storage import BASE, NOBODY

_PATIENCE = 120  # seconds
_HEADS = "refs/heads/"
_TEXT = {"Content-Type": "text/plain"}
_HOOK = """#!/bin/sh
# Prints the refusal that the service found before it started git.
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

Command = tuple[str, str, str]


def is_git(path: str) -> bool:
    """Whether a Git client asks."""
    return _PATH.fullmatch(path) is not None


def serve(github: Core, path: str, token: str, body: bytes, cgi: Mapping[str, str]) -> Answer:
    """Answer a fetch or a push; a hook refuses a ref, with GitHub's words.

    `cgi` has the request's part of the environment of git's backend, a CGI program.
    """
    found = _PATH.fullmatch(path)
    assert found is not None
    name, service = found.groups()
    repository = github.state.repositories.get(name.lower())
    if repository is None:
        return Answer(code=404, body="Repository not found.", headers=_TEXT)
    level = "write" if "git-receive-pack" in (cgi["QUERY_STRING"] + service) else "read"
    try:
        by = github.principal_of(token)
        problem = github.refusal(by, repository, "contents", level)
    except Problem as wrong:
        problem = wrong
    if problem is not None and problem.code == 401:
        headers = {**_TEXT, "WWW-Authenticate": 'Basic realm="GitHub"'}
        return Answer(code=401, body="Authentication failed.", headers=headers)
    if problem is not None:
        text = f"Permission to {repository.full_name}.git denied to {by.login}."
        return Answer(code=403, body=text, headers=_TEXT)
    merging.notice(github)
    plain = gzip.decompress(body) if cgi["HTTP_CONTENT_ENCODING"] == "gzip" else body
    commands = _commands(plain) if service == "git-receive-pack" else []
    environment = {
        **_environment(repository, by, commands),
        **cgi,
        "PATH_INFO": f"/{repository.git.directory.name}/{service}",
        "REMOTE_USER": by.login or "anonymous",
    }
    answer = backend(repository.git.directory, body, environment)
    merging.notice(github, by)
    return answer


def _commands(body: bytes) -> list[Command]:
    """Old id, new id and ref of each command of a push. The body starts with these pkt-lines."""
    commands: list[Command] = []
    place = 0
    while place + 4 <= len(body) and (size := int(body[place : place + 4], 16)):
        line = body[place + 4 : place + size].split(b"\0")[0].decode("utf-8", "replace").strip()
        place += size
        old, new, ref = line.split(" ", 2)
        commands.append((old, new, ref))
    return commands


def _refusal(repository: Repository, by: Principal, commands: list[Command]) -> str:
    """Why the whole push is refused; "" if it is not."""
    present = repository.git.refs()
    for old, new, ref in commands:
        if not ref.startswith(_HEADS) or present.get(ref, NOBODY) != old:
            continue  # git itself refuses one that moved
        branch = ref.removeprefix(_HEADS)
        found = protection.refusal_of_push(repository, branch, by=by, old=old, new=new)
        if found is not None:
            return f"error: GH013: Repository rule violations found for {ref}.\n- {found}"
    return ""


def _workflows_from(repository: Repository, by: Principal) -> str:
    """The commit whose workflow files a push may repeat; "" if it may change them."""
    if by.kind == "user" or by.permissions.get("workflows") == "write":
        return ""
    return repository.refs.get(BASE, "")


def _fast_forward_only(repository: Repository, by: Principal, commands: list[Command]) -> list[str]:
    """Refs that must only go forward; the hook checks it once the objects are there."""
    return [
        ref
        for old, new, ref in commands
        if NOBODY not in (old, new)
        and protection.fast_forward_only(repository, ref.removeprefix(_HEADS), by=by)
    ]


def _environment(repository: Repository, by: Principal, commands: list[Command]) -> dict[str, str]:
    """The hook's part of the environment."""
    return {
        "GITHUB_WORKFLOWS_FROM": _workflows_from(repository, by),
        "GITHUB_REFUSAL": _refusal(repository, by, commands),
        "GITHUB_FAST_FORWARD_ONLY": " ".join(_fast_forward_only(repository, by, commands)),
    }


def backend(folder: Path, body: bytes, more: Mapping[str, str]) -> Answer:
    """What git answers; `more` is the request's part of the environment."""
    hook = folder / "hooks" / "pre-receive"
    if not hook.exists():
        hook.parent.mkdir()
        hook.write_text(_HOOK)
        hook.chmod(0o755)
    environment = {
        **hardened_environment(),
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_PROJECT_ROOT": str(folder.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REMOTE_ADDR": "127.0.0.1",
        **more,
    }
    ours = {
        "core.hooksPath": str(folder / "hooks"),
        "http.receivepack": "true",
        "uploadpack.allowAnySHA1InWant": "true",
    }
    known = int(environment["GIT_CONFIG_COUNT"])
    environment["GIT_CONFIG_COUNT"] = str(known + len(ours))
    for number, (key, value) in enumerate(ours.items(), start=known):  # the later one wins
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    finished = subprocess.run(
        ["git", "http-backend"],
        input=body,
        env=environment,
        capture_output=True,
        check=False,
        timeout=_PATIENCE,
    )
    return _cgi(finished.stdout)


def _cgi(output: bytes) -> Answer:
    head, _, body = output.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n"))
    code = int(headers.pop("Status", "200").split()[0])
    return Answer(code=code, body=body, headers=headers)
