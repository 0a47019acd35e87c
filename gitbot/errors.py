"""The error family. A refusal is a value (Finding, Hold); these are failures.

Every class carries the process exit code that the command line gives it:
1 findings, 2 could not evaluate, 3 a bug.
"""

from __future__ import annotations


class GitbotError(Exception):
    """A failure with a message for people: what was found, what was expected, what to do next."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class InvalidInput(GitbotError):
    """What a person wrote is wrong; the findings say where."""

    exit_code = 1


class UsageError(GitbotError):
    """The command line, or the place it is called from, is wrong."""


class ClusterError(GitbotError):
    """The cluster could not be read or written, or refused."""


class NoCluster(ClusterError):
    """There is no kubeconfig, so there is no cluster to ask."""


class ClusterForbidden(ClusterError):
    """A right is missing; the hint holds the RBAC rule that would grant it."""


class ClusterRefused(ClusterError):
    """The API server or an admission webhook refused one object, and changed nothing.

    `code` is the HTTP status, `reason` the Kubernetes reason (`AlreadyExists`, `Invalid`, ...).
    """

    def __init__(self, message: str, *, code: int, reason: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.reason = reason


class OutcomeUnknown(ClusterError):
    """A write was sent and its answer lost: read before anything else, never repeat blindly."""


class NotSent(ClusterError):
    """A write did not leave, so that nothing was changed: no connection, or it was too late."""


class SnapshotError(GitbotError):
    """A snapshot is incomplete, unreadable or too old. A partial read is never a snapshot."""


class RepositoryError(GitbotError):
    """Git refused, is unreachable, or holds something that gitbot does not read."""


class UnreachableError(RepositoryError):
    """The remote did not answer, or did not let us in: its content is unknown."""


class ConflictError(RepositoryError):
    """Somebody else moved the ref first (compare-and-swap lost): read again and decide again."""


class ForgeError(GitbotError):
    """The forge could not be read or written."""


class ForgeRefused(ForgeError):
    """The forge answered, and refused this one request."""


class NoticeError(GitbotError):
    """A webhook did not take a notice."""


class LedgerError(GitbotError):
    """The ledger is damaged, rewritten or contradicts itself: halt and ask a person."""


class LimitExceeded(GitbotError):
    """A process with limits gave no answer about what others wrote."""


class UserInterrupt(GitbotError):
    """A person or the system asked to stop."""

    exit_code = 130


class SelfContradiction(GitbotError):
    """gitbot contradicts itself while it answers a question; the message says how to report it."""

    exit_code = 1


class Bug(GitbotError):
    """The impossible happened; the message starts with BUG."""

    exit_code = 3
