"""Git as a hardened child process, through GitPython's command wrapper.

Every argument list consists of constants and checked names. No user's text can become an option, a
configuration key, a hook, a filter or another protocol.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from gitbot.adapters.authorities import trusted_file
from gitbot.adapters.git.bounded_command import CommandBound, communicate_within, read_within
from gitbot.adapters.git.isolated_clone import Isolated, config_file, isolated
from gitbot.adapters.signals import defer_signals
from gitbot.errors import RepositoryError
from gitbot.model.text.names import BAD_REF
from gitbot.model.text.wording import shortened

try:
    import git
except ImportError as _error:  # GitPython runs `git version` when it is imported
    _said = " ".join(str(_error).split())[:200]
    raise RepositoryError(
        f"Git does not run: {_said}",
        hint="install git 2.38 or newer, and see that `git version` works",
    ) from _error

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_TIMEOUT_SECONDS = 120
_LAST_SECONDS = 2  # for Git to end after a signal; CI gives the whole process ten
_PROTOCOLS = "file:https:ssh"
_PROXY = re.compile(rb"(proxy syntax) in '[^\n]*")  # curl's message, which may quote a password
_SAID = 500  # characters of Git's message about one commit
_TALKING = frozenset({"fetch", "push", "ls-remote"})  # the commands that need access to the remote
_SILENT = "none"  # not a protocol: a missing object is an error, Git asks no promisor remote for it
_ONE_PACK = {"fetch.unpackLimit": "1"}  # never loose objects, because packs are measured

_CONFIGURATION = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "protocol.ext.allow": "never",
    "transfer.fsckObjects": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
    "log.showSignature": "false",  # it runs a program for each signed commit
    "merge.default": "text",
    "merge.renormalize": "false",  # it runs filters
    "merge.renames": "true",
    "merge.directoryRenames": "conflict",
}


class _NoAnswerError(RepositoryError):
    """A command took too long; it may have taken effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Configuration for access to a remote. It may contain a secret and is never printed.

    It is passed through the environment of the one process that connects, never as arguments.
    """

    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    protocols: str = _PROTOCOLS


NO_ACCESS = Access()


def no_access() -> Access:
    """No credentials: only what the machine itself may access (files, SSH keys)."""
    return NO_ACCESS


def address_of(remote: str, access: Callable[[], Access]) -> tuple[str, Callable[[], Access]]:
    """A remote as an argument, which every user of the machine can read.

    User and password of a URL go to the server in a header, which Git gets in its environment.
    """
    found = re.match("^(https?://)([^/@]*)@", remote)
    if found is None:
        return remote, access
    plain = found[1] + remote[found.end() :]
    said = base64.b64encode(unquote(found[2]).encode()).decode()
    header = {f"http.{plain}.extraHeader": f"Authorization: Basic {said}"}

    def with_header() -> Access:
        known = access()
        return replace(known, configuration={**header, **known.configuration})

    return plain, with_header


def remote_address(work_tree: Path, name: str) -> str:
    """The address of a remote of a work tree; "" if there is none."""
    return _of_clone(_entry_of(work_tree), f"remote.{name}.url")


def hardened_environment(access: Access = NO_ACCESS) -> dict[str, str]:
    """Environment variables that exclude a user's and the system's Git configuration."""
    configuration = {**_CONFIGURATION, **access.configuration}
    if access.protocols != _SILENT and (trusted := trusted_file()):
        configuration["http.sslCAInfo"] = trusted
    environment = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": access.protocols,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is exactly what its id says
        "GIT_GRAFT_FILE": "/dev/null/none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LITERAL_PATHSPECS": "1",  # a `*` in the name of a file is not a pattern
        "GIT_ATTR_NOSYSTEM": "1",
        "LC_ALL": "C",
        "GIT_CONFIG_COUNT": str(len(configuration)),
    }
    for number, (key, value) in enumerate(configuration.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def is_commit_id(rev: str) -> bool:
    return bool(_COMMIT.fullmatch(rev))


def check_ref(rev: str) -> str:
    """The rev itself, if it is a full object id or a plain ref name. Raises RepositoryError."""
    if not rev or len(rev) > 250 or re.search(BAD_REF, rev):
        raise RepositoryError(
            f"{rev!r} is not a branch, tag or full commit id",
            hint="give a plain name such as main, or the 40 digits of a commit",
        )
    return rev


class Git:
    """Git commands on one Git directory. Output is bytes; failures are RepositoryError.

    Each process gets its Git directory explicitly and inherits no `GIT_*` variable: a hook sets
    `GIT_DIR` and others, and every command would then work on the caller's repository. `access` is
    called before each command that connects to a remote: a token may expire within an hour.
    """

    def __init__(
        self,
        directory: Path,
        *,
        folder: Path | None = None,
        access: Callable[[], Access] = no_access,
        entry: Path | None = None,
    ) -> None:
        self.directory = directory.absolute()
        self._folder = folder or directory  # where the process runs
        self._access = access
        self._held: Isolated | None = None  # keeps the directory
        self.shown = entry or self.directory  # in messages
        self._environment = hardened_environment(Access(protocols=_SILENT))

    @classmethod
    def of_work_tree(cls, folder: Path) -> Git:
        """The repository whose work tree contains a folder, found as Git does: upwards.

        Its configuration is not used. Raises RepositoryError if another account owns it.
        """
        entry = _entry_of(folder)
        if entry is None:
            return cls(folder / ".git", folder=folder)
        return cls.of_repository(entry, folder=folder)

    @classmethod
    def of_repository(cls, entry: Path, *, folder: Path | None = None) -> Git:
        """The repository at `entry`, a `.git` or a bare one, without its configuration."""
        entry = entry.absolute()
        held = isolated(entry, _trusted_folders)
        git = cls(held.directory, folder=folder or entry, entry=entry)
        git._held = held
        return git

    def run(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (0,),
    ) -> bytes:
        return self.status(arguments, stdin=stdin, environment=environment, accept=accept)[1]

    def status(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (0,),
    ) -> tuple[int, bytes]:
        code, output, errors = self._call(arguments, stdin, environment)
        if code not in accept:
            said = errors.decode("utf-8", "replace").strip() or f"exit code {code}"
            raise RepositoryError(f"git {arguments[0]} failed in {self.shown}: {said}")
        return code, output

    def attempt(self, arguments: Sequence[str]) -> tuple[int, str]:
        """Run a command whose failure is a valid result; returns exit code and output."""
        code, output, errors = self._call(arguments, None, None)
        return code, (output + errors).decode("utf-8", "replace").strip()

    def begin(self, arguments: Sequence[str]) -> tuple[int, str]:
        """As `attempt`, for commands that may take effect even if they do not end in time."""
        try:
            return self.attempt(arguments)
        except _NoAnswerError as error:
            return 1, error.message

    def within(self, bound: CommandBound, arguments: Sequence[str]) -> None:
        """Run a command within a bound of time and bytes. Failures are RepositoryError."""
        access = self._access()
        known = replace(access, configuration={**access.configuration, **_ONE_PACK})
        wrapper = self._start(arguments, hardened_environment(known), start_new_session=True)
        process = _process_of(wrapper)
        output, errors = communicate_within(process, self.directory, bound)
        if process.returncode != 0:
            said = _in_one_line(_PROXY.sub(rb"\1", output + errors).decode("utf-8", "replace"))
            raise RepositoryError(shortened(said, _SAID) or f"exit code {process.returncode}")

    def run_short(self, arguments: Sequence[str], limit: int) -> bytes | None:
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
        if arguments[0] in _TALKING:
            own = hardened_environment(self._access())
        # The wrapper ends its process when it is collected: keep it until the output is here.
        wrapper = self._start(arguments, {**own, **(environment or {})})
        process = _process_of(wrapper)
        try:
            output, errors = process.communicate(stdin or b"", timeout=_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise _NoAnswerError(
                f"git {arguments[0]} gave no answer within {_TIMEOUT_SECONDS} seconds"
            ) from error
        except BaseException:
            _end(process)
            raise
        return process.returncode, output, _PROXY.sub(rb"\1", errors)

    def _start(self, arguments: Sequence[str], environment: Mapping[str, str], **how: Any) -> Any:
        command = ["git", f"--git-dir={self.directory}", *arguments]
        wrapper: Any = None
        try:
            with defer_signals():  # otherwise a signal at this moment would leave Git running
                wrapper = git.Git(str(self._folder)).execute(
                    [*_without_inherited(environment), *command],
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
        except KeyboardInterrupt:
            if wrapper is not None:
                _end(_process_of(wrapper))
            raise
        return wrapper


def author_of(folder: Path) -> tuple[str, str]:
    """Name and email with which a person commits here; "" if Git does not know them."""
    return _own(folder, "user.name", "GIT_AUTHOR_NAME"), _own(
        folder, "user.email", "GIT_AUTHOR_EMAIL"
    )


def _own(folder: Path, key: str, variable: str) -> str:
    if given := os.environ.get(variable, ""):
        return given
    entry = _entry_of(folder)
    return _of_clone(entry, key) or _last(_values(_persons_file(), key, at=entry))


def _entry_of(folder: Path) -> Path | None:
    """The `.git` of the work tree that contains a folder; a file in a linked one."""
    roots = (folder.absolute(), *folder.absolute().parents)
    return next((root / ".git" for root in roots if (root / ".git").exists()), None)


def _of_clone(entry: Path | None, key: str) -> str:
    """The value of a key in the configuration of a clone, without includes; "" if there is none.

    Raises RepositoryError if another account owns the clone.
    """
    if entry is None:
        return ""
    file = config_file(entry, _trusted_folders)
    return _last(_values(["--file", str(file), "--no-includes"], key))


def _last(values: Sequence[str]) -> str:
    return values[-1].strip() if values else ""


def _persons_file() -> list[str]:
    own = os.environ.get("GIT_CONFIG_GLOBAL") or str(Path.home() / ".gitconfig")
    return ["--file", own, "--includes"]


def _trusted_folders() -> frozenset[str]:
    """The folders of other accounts that the person and the machine let Git work in."""
    system = os.environ.get("GIT_CONFIG_NOSYSTEM", "0") in {"0", "false"}
    files = [_persons_file(), *([["--file", "/etc/gitconfig"]] if system else [])]
    return frozenset(value for file in files for value in _values(file, "safe.directory"))


def _values(file: Sequence[str], key: str, *, at: Path | None = None) -> list[str]:
    """The values of a key in a file of Git's configuration; none if it cannot be read.

    `at` is the `.git` that conditional includes of the file are about.
    """
    git = Git(at or Path(os.devnull), folder=Path(os.sep))
    code, found = git.attempt(["config", *file, "--null", "--get-all", key])
    return found.strip("\0").split("\0") if code == 0 else []


def _without_inherited(environment: Mapping[str, str]) -> list[str]:
    """The program prefix that removes the `GIT_*` variables of our own process.

    GitPython adds to the inherited environment and cannot remove from it.
    """
    inherited = sorted(
        name for name in os.environ if name.startswith("GIT_") and name not in environment
    )
    return ["env", *(word for name in inherited for word in ("-u", name))] if inherited else []


def _end(process: subprocess.Popen[bytes]) -> None:
    """End Git and wait for it, so that it removes its children and unfinished files first.

    An interrupted caller removes the directory that Git writes into.
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


def _in_one_line(said: str) -> str:
    """Git's message without its own prefixes: gitbot adds `error:` itself."""
    lines = (line.strip() for line in said.splitlines())
    bare = (line.removeprefix("fatal: ").removeprefix("error: ") for line in lines)
    return "; ".join(filter(None, bare))
