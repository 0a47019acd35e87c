"""Git as a hardened child process, through GitPython's command wrapper.

Every argument list is built from constants and checked names; nothing that a person wrote can
become an option, a configuration key, a hook, a filter or another protocol.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import git

from gitbot.adapters.git.bounded import Bound, communicate_within, read_within
from gitbot.errors import RepositoryError

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
# git check-ref-format, a little stricter: no control characters, no option look-alikes.
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|[/.]$|/\.|\.lock(/|$)|^@$")
_TIMEOUT_SECONDS = 120
_LAST_SECONDS = 2  # for Git to end when we are interrupted; a run that is ended has ten
_PROTOCOLS = "file:https:ssh"
_SAID = 500  # characters of what Git says about one commit
_TALKING = frozenset({"fetch", "push", "ls-remote"})  # the commands that need a way in
_ONE_PACK = {"fetch.unpackLimit": "1"}  # never loose objects: the size of packs tells all

_CONFIGURATION = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "protocol.ext.allow": "never",
    "transfer.fsckObjects": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "safe.directory": "*",
    "commit.gpgSign": "false",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to get into a remote: configuration that may hold a secret, never printed.

    It goes through the environment of the one process that talks, never through arguments.
    """

    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    protocols: str = _PROTOCOLS


NO_ACCESS = Access()


def no_access() -> Access:
    """Whatever the machine itself may do: files, SSH keys."""
    return NO_ACCESS


def hardened_environment(access: Access = NO_ACCESS) -> dict[str, str]:
    """Environment variables that take a person's and the system's Git configuration out."""
    configuration = {**_CONFIGURATION, **access.configuration}
    environment = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": access.protocols,
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
        "GIT_CONFIG_COUNT": str(len(configuration)),
    }
    for number, (key, value) in enumerate(configuration.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def is_commit_id(rev: str) -> bool:
    """Whether the text is a full object id."""
    return bool(_COMMIT.fullmatch(rev))


def check_ref(rev: str) -> str:
    """The rev itself, if it is a full object id or a plain ref name; RepositoryError if not."""
    if not rev or len(rev) > 250 or _BAD_REF.search(rev):
        raise RepositoryError(
            f"{rev!r} is no branch, tag or full commit id",
            hint="give a plain name such as main, or the 40 digits of a commit",
        )
    return rev


class Git:
    """Git commands in one repository directory. Output is bytes; failures are RepositoryError.

    `access` is asked before each command that talks to a remote: a token may live an hour only.
    """

    def __init__(self, directory: Path, *, access: Callable[[], Access] = no_access) -> None:
        self.directory = directory
        self._access = access
        self._environment = hardened_environment()

    def run(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (0,),
    ) -> bytes:
        """Run `git <arguments>`; returns standard output. Other exit codes than `accept` raise."""
        return self.status(arguments, stdin=stdin, environment=environment, accept=accept)[1]

    def status(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (0,),
    ) -> tuple[int, bytes]:
        """Run `git <arguments>`; returns exit code and standard output."""
        code, output, errors = self._call(arguments, stdin, environment)
        if code not in accept:
            said = errors.decode("utf-8", "replace").strip() or f"exit code {code}"
            raise RepositoryError(f"git {arguments[0]} failed in {self.directory}: {said}")
        return code, output

    def attempt(
        self, arguments: Sequence[str], *, environment: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Run a command whose failure decides something; returns exit code and its words."""
        code, output, errors = self._call(arguments, None, environment)
        return code, (output + errors).decode("utf-8", "replace").strip()

    def within(self, bound: Bound, arguments: Sequence[str]) -> None:
        """Run a command that may take and bring only so much. Failures are RepositoryError."""
        access = self._access()
        known = replace(access, configuration={**access.configuration, **_ONE_PACK})
        wrapper = self._start(arguments, hardened_environment(known), start_new_session=True)
        process = _process_of(wrapper)
        output, errors = communicate_within(process, self.directory, bound)
        if process.returncode != 0:
            said = "; ".join((output + errors).decode("utf-8", "replace").split("\n")).strip("; ")
            raise RepositoryError(said[:_SAID] or f"exit code {process.returncode}")

    def run_short(self, arguments: Sequence[str], limit: int) -> bytes | None:
        """Standard output of a command, None where it is longer than `limit` bytes."""
        wrapper = self._start(arguments, self._environment)
        process = _process_of(wrapper)
        output = read_within(process, limit, _TIMEOUT_SECONDS)
        if output is not None and process.returncode != 0:
            raise RepositoryError(f"git {arguments[0]} failed: exit code {process.returncode}")
        return output

    def _call(
        self,
        arguments: Sequence[str],
        stdin: bytes | None,
        environment: Mapping[str, str] | None,
    ) -> tuple[int, bytes, bytes]:
        own = self._environment
        if arguments[0] in _TALKING and self._access is not no_access:
            own = hardened_environment(self._access())
        # the wrapper ends its process when it is collected: keep it until the answer is here
        wrapper = self._start(arguments, {**own, **(environment or {})})
        process = _process_of(wrapper)
        try:
            output, errors = process.communicate(stdin or b"", timeout=_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise RepositoryError(
                f"git {arguments[0]} gave no answer within {_TIMEOUT_SECONDS} seconds"
            ) from error
        except BaseException:
            _end(process)
            raise
        return process.returncode, output, errors

    def _start(self, arguments: Sequence[str], environment: Mapping[str, str], **how: Any) -> Any:
        """GitPython's wrapper of a process that was started."""
        try:
            return git.Git(str(self.directory)).execute(
                ["git", *arguments],
                as_process=True,
                env=environment,
                istream=subprocess.PIPE,
                shell=False,
                **how,
            )
        except git.exc.GitCommandNotFound as error:
            raise RepositoryError(
                "git is not installed", hint="install git 2.38 or newer"
            ) from error


def _end(process: subprocess.Popen[bytes]) -> None:
    """End Git, whose own end takes its children and unfinished files along, before we go on.

    Whoever is interrupted removes the directory that Git is writing into.
    """
    process.terminate()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LAST_SECONDS)
    finally:
        process.kill()
        process.wait()


def _process_of(wrapper: Any) -> subprocess.Popen[bytes]:
    process = wrapper.proc
    assert isinstance(process, subprocess.Popen)
    return process
