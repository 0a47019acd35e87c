"""The Repository port over Git; the only place that imports git."""

from __future__ import annotations

from gitbot.adapters.git.fetch_tips import copy_fetched, fetch_tips
from gitbot.adapters.git.ledger_branch import GitLedgerStore, ledger_name, read_ledger
from gitbot.adapters.git.objects import commit_tree
from gitbot.adapters.git.process import (
    Access,
    Git,
    address_of,
    author_of,
    check_ref,
    is_commit_id,
    no_access,
    remote_address,
)
from gitbot.adapters.git.ref_state import RefState, move_ref, tip_of
from gitbot.adapters.git.repository import GitRepository
from gitbot.adapters.git.signing import SIGNING_EMAIL, SIGNING_KEY_FILE, read_signing_key

__all__ = [
    "SIGNING_EMAIL",
    "SIGNING_KEY_FILE",
    "Access",
    "Git",
    "GitLedgerStore",
    "GitRepository",
    "RefState",
    "address_of",
    "author_of",
    "check_ref",
    "commit_tree",
    "copy_fetched",
    "fetch_tips",
    "is_commit_id",
    "ledger_name",
    "move_ref",
    "no_access",
    "read_ledger",
    "read_signing_key",
    "remote_address",
    "tip_of",
]
