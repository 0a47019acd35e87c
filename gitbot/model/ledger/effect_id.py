"""Effect: one migration that gitbot may create, and the one name that it always gets.

An effect is (request, VMI UID, move number, attempt) and gets at most one VMIM ever. The name
depends on the effect alone, so the server refuses a second create with AlreadyExists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.canonical import canonical_json, short_digest

NAME_LIMIT = 253  # a DNS subdomain (Kubernetes object names)
LABEL_LIMIT = 63  # a label value
_HEX = 10
_LABEL_CUT = 52


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class EffectId:
    """One move of one VMI (by UID) for one request (by ledger id), at its nth attempt."""

    request: RequestId
    vmi_uid: str
    move: int
    attempt: int = 1

    def migration_name(self, *, vm: str) -> str:
        """The VMIM's name: `gitbot-<vm>-<10 hex>`, with the VM's part cut to keep 253 characters.

        The digits are of the SHA-256 of the effect's canonical JSON.
        """
        prefix, suffix = "gitbot-", f"-{_digits(self)}"
        room = NAME_LIMIT - len(prefix) - len(suffix)
        return f"{prefix}{vm[:room].rstrip('-.')}{suffix}"


@lru_cache(maxsize=1024)
def _digits(effect: EffectId) -> str:
    parts = [effect.request, effect.vmi_uid, effect.move, effect.attempt]
    return short_digest(canonical_json(parts).decode("utf-8"), _HEX)


def label_value(text: str) -> str:
    """A valid label value for any text; put the full text into an annotation.

    `/`, which separates the parts of ledger ids, becomes `_`, which no part contains, so different
    ids have different labels. A value longer than 63 characters, or one that had to lose other
    characters, is cut to 52 and gets `-` and 10 hex digits of the text's SHA-256.
    """
    value = text.replace("/", "_")
    legal = re.sub(r"[^A-Za-z0-9_.-]", "-", value).strip("-_.")
    if legal == value and len(legal) <= LABEL_LIMIT:
        return legal
    cut = legal[:_LABEL_CUT]
    return f"{cut}-{short_digest(text, _HEX)}" if cut else short_digest(text, _HEX)
