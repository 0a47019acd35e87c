"""Open pull requests of people that change the intents of a cluster."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.errors import RepositoryError
from gitbot.ports.forge import PullRequest
from gitbot.workflows.revision import INTENTS
from gitbot.workflows.shell import Shell


def is_own(shell: Shell, pull: PullRequest) -> bool:
    """Whether gitbot opened it. A person who asks with their own token is the forge's `bot`."""
    return pull.author == shell.forge.bot and pull.branch.startswith("gitbot/")


def changing_intents(shell: Shell, pulls: Iterable[PullRequest]) -> tuple[PullRequest, ...]:
    """Those of `pulls` that people opened to change intents of this cluster."""
    return tuple(
        pull
        for pull in pulls
        if not is_own(shell, pull)
        and pull.base_branch == shell.base_branch
        and _changes_intents(shell, pull)
    )


def _changes_intents(shell: Shell, pull: PullRequest) -> bool:
    """Compared with where it branched off. True if its head cannot be read: nobody knows."""
    folder = f"{INTENTS}{shell.cluster_name}/"
    repository = shell.repository
    try:
        repository.fetch_commit(pull.head)
        since = repository.merge_base(shell.base_branch, pull.head)
        before = repository.read_tree(since, folder) if since else {}
        return dict(before) != dict(repository.read_tree(pull.head, folder))
    except RepositoryError:
        return True
