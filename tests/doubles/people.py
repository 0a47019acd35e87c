"""What people set on a local forge, and gitbot never does: reviews and readers."""

from dataclasses import replace

from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.ports.forge import PullRequest


def dismiss_review(forge: LocalForge, number: int, *, reviewer: str) -> None:
    def dismiss(pull: PullRequest) -> PullRequest:
        kept = (r if r.reviewer != reviewer else replace(r, approved=False) for r in pull.reviews)
        return replace(pull, reviews=tuple(kept))

    forge._edit(number, dismiss, "dismiss a review of")


def refuse_writing(forge: LocalForge, *accounts: str) -> None:
    """Set the accounts that may only read. Earlier ones may write again."""
    forge._settings({"readers": sorted(set(accounts))}, "name the readers")
