"""Documents to intents and back; intents to rules and goals (in compile only)."""

from __future__ import annotations

from gitbot.intents.intent import Intent, IntentSet, Spec, spec_digest
from gitbot.intents.places import proposal_file
from gitbot.intents.reader import read_intents

__all__ = [
    "Intent",
    "IntentSet",
    "Spec",
    "proposal_file",
    "read_intents",
    "spec_digest",
]
