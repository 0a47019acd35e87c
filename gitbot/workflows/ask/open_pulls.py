"""Open pull requests: whose they are, and what to type or do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitbot.errors import RepositoryError
from gitbot.execution.request_records import RequestRecord
from gitbot.model.ledger.request_id import DrainId, MigrationRequestId, RequestId, ReturnId
from gitbot.ports.forge import PullRequest
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision import INTENTS
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.propose import concern_name
from gitbot.workflows.pulls.next_step import check_first, merge_words


def is_own(shell: RunContext, pull: PullRequest) -> bool:
    """Whether gitbot opened it. A person who asks with their own token is the forge's `bot`."""
    return pull.author == shell.forge.bot and pull.branch.startswith("gitbot/")


def changing_intents(shell: RunContext, pulls: Iterable[PullRequest]) -> tuple[PullRequest, ...]:
    """Those of `pulls` that people opened to change intents of this cluster."""
    return tuple(
        pull
        for pull in pulls
        if not is_own(shell, pull)
        and pull.base_branch == shell.base_branch
        and _changes_intents(shell, pull)
    )


def next_of_pulls(
    shell: RunContext,
    seen: CurrentState,
    own: tuple[PullRequest, ...],
    people: tuple[PullRequest, ...],
    records: Iterable[RequestRecord],
) -> Mapping[int, str]:
    """What to type or do next, by number.

    A proposal of what has ended since is closed. What people ask is planned and shown first.
    """
    over = {
        concern_branch(shell.cluster_name, concern_of(each.id)) for each in records if each.spent
    }
    found = {pull.number: merge_words(shell.forge, pull) for pull in (*own, *people)}
    found |= {pull.number: "gitbot propose" for pull in own if pull.branch in over}
    for pull in people:
        first = check_first(shell, seen.ledger, pull, now=seen.now)
        if first:
            found[pull.number] = first
    return found


def concern_of(request: RequestId) -> str:
    """The concern whose pull request is about a request alone; "" if there is no such."""
    match request:
        case MigrationRequestId():
            return concern_name("request", f"{request.namespace.replace('-', '--')}-{request.name}")
        case DrainId(occurrence=occurrence):
            return concern_name("drain", occurrence.window, occurrence.id)
        case ReturnId(occurrence=occurrence):
            return concern_name("return", occurrence.window, occurrence.id)
        case _:
            return ""


def _changes_intents(shell: RunContext, pull: PullRequest) -> bool:
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
