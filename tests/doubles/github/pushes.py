"""What follows from a ref that moved: pull requests see it, and an event tells it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.doubles.github import merging
from tests.doubles.github.core import Core
from tests.doubles.github.events import Event
from tests.doubles.github.shapes import git as shapes
from tests.doubles.github.shapes import people
from tests.doubles.github.state import JSON, Principal, Pull, Repository
from tests.doubles.github.storage import NOBODY

_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A ref that went from one commit to another (zeros: none), by whom."""

    ref: str
    old: str
    new: str
    actor: str


def notice(github: Core, by: Principal | None = None) -> None:
    """Look at every repository for refs that moved since the last look.

    `by` is who moved them; without it (a push into the folder on disk) it is the owner.
    """
    for repository in list(github.state.repositories.values()):
        present = repository.git.refs()
        if present == repository.refs:
            continue
        before, repository.refs = repository.refs, present
        for ref in sorted(set(before) | set(present)):
            old, new = before.get(ref, NOBODY), present.get(ref, NOBODY)
            if old != new and ref.startswith((_HEADS, "refs/tags/")):
                actor = by.login if by is not None and by.login else repository.owner
                move = Move(ref=ref, old=old, new=new, actor=actor)
                _moved(github, repository, move, by)


def _moved(github: Core, repository: Repository, move: Move, by: Principal | None) -> None:
    by_job = by is not None and by.kind == "job"
    github.publish(
        Event(
            name="push",
            repository=repository.full_name,
            actor=move.actor,
            time=github.clock.now(),
            sha=move.new,
            ref=move.ref,
            by_job=by_job,
            payload=_payload(github, repository, move),
        )
    )
    if move.ref.startswith(_HEADS):
        _tell_pulls(github, repository, move, by_job=by_job)


def _payload(github: Core, repository: Repository, move: Move) -> JSON:
    old, new = move.old, move.new
    gone = new == NOBODY
    head = None if gone else shapes.simple_commit(repository.git.commit(new))
    return {
        "ref": move.ref,
        "before": old,
        "after": new,
        "created": old == NOBODY,
        "deleted": gone,
        "forced": NOBODY not in (old, new) and not repository.git.is_ancestor(old, new),
        "base_ref": None,
        "compare": github.links.page(repository.full_name, f"/compare/{old[:12]}...{new[:12]}"),
        "commits": [head] if head else [],
        "head_commit": head,
        "pusher": {"name": move.actor, "email": f"{move.actor}@users.noreply.localhost"},
        "repository": people.repository(github.links, github.state, repository),
        "sender": people.user(github.links, github.add_account(move.actor)),
    }


def _tell_pulls(github: Core, repository: Repository, move: Move, *, by_job: bool) -> None:
    branch = move.ref.removeprefix(_HEADS)
    for base in list(github.state.repositories.values()):
        for pull in list(base.pulls.values()):
            if base.issues[pull.number].state != "open":
                continue
            is_head = pull.head_repository == repository.full_name and pull.head_branch == branch
            if is_head and move.new == NOBODY:
                merging.close(github, base, pull, move.actor, by_job=by_job)
            elif is_head and move.new != pull.head:
                _synchronize(github, base, pull, move, by_job=by_job)
            elif base is repository and pull.base_branch == branch and move.new != NOBODY:
                merging.look_at(github, base, pull)


def _synchronize(github: Core, base: Repository, pull: Pull, move: Move, *, by_job: bool) -> None:
    before, pull.head, pull.pusher = pull.head, move.new, move.actor
    if pull.head_repository != base.full_name:
        source = github.repository(pull.head_repository)
        base.git.fetch(source.git, f"{_HEADS}{pull.head_branch}", f"refs/pull/{pull.number}/head")
    merging.head_moved(github, base, pull)
    more = {"before": before, "after": move.new}
    merging.tell(github, base, pull, "synchronize", move.actor, by_job=by_job, **more)
