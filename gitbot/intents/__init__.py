"""Documents to intents and back; intents to rules and goals (in compile only)."""

from __future__ import annotations

from gitbot.intents.intent import Intent, IntentSet, Spec, spec_digest
from gitbot.intents.places import proposal_file
from gitbot.intents.proposals import Proposal, proposal_of, write_proposal
from gitbot.intents.reader import read_intents

__all__ = [
    "Intent",
    "IntentSet",
    "Proposal",
    "Spec",
    "proposal_file",
    "proposal_of",
    "read_intents",
    "spec_digest",
    "write_proposal",
]
