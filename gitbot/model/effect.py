"""Effect: one migration that gitbot may cause, and the one name that it always gets.

An effect is (request, VMI UID, move number, attempt): at most one VMIM each, ever. Because the
name is a function of the effect alone, a create that is sent twice meets AlreadyExists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitbot.model.canonical import canonical_json, short_digest

NAME_LIMIT = 253  # a DNS subdomain (Kubernetes object names)
LABEL_LIMIT = 63  # a label value
_HEX = 10
_LABEL_CUT = 52


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Effect:
    """One move of one VMI (by UID) for one request (by ledger id), tried for the nth time."""

    request: str
    vmi_uid: str
    move: int
    attempt: int = 1


def effect_digest(effect: Effect) -> str:
    """10 hex digits of the SHA-256 of the effect's canonical JSON."""
    parts = [effect.request, effect.vmi_uid, effect.move, effect.attempt]
    return short_digest(canonical_json(parts).decode("utf-8"), _HEX)


def effect_name(effect: Effect, *, vm: str) -> str:
    """The VMIM's name: `gitbot-<vm>-<10 hex>`, the VM's part cut where 253 characters are full."""
    prefix, suffix = "gitbot-", f"-{effect_digest(effect)}"
    room = NAME_LIMIT - len(prefix) - len(suffix)
    return f"{prefix}{vm[:room].rstrip('-.')}{suffix}"


def label_value(text: str) -> str:
    """A legal label value for any text; the full text belongs into an annotation.

    `/`, which separates the parts of ledger ids, becomes `_`, which no part holds, so ids that
    differ have labels that differ. A value longer than 63, or one that had to lose other
    characters, is cut to 52 and gets `-` and 10 hex digits of the text's SHA-256.
    """
    value = text.replace("/", "_")
    legal = re.sub(r"[^A-Za-z0-9_.-]", "-", value).strip("-_.")
    if legal == value and len(legal) <= LABEL_LIMIT:
        return legal
    cut = legal[:_LABEL_CUT]
    return f"{cut}-{short_digest(text, _HEX)}" if cut else short_digest(text, _HEX)
