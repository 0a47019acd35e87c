"""UIDs of a recording: written as `<uid of KIND NAME>` there, as legal texts in a store."""

import json
import re
from typing import Any

from gitbot.model.text.canonical import short_digest

_TEXT = re.compile(r"<uid of [^<>]*>")
_ID = re.compile(r"\buid-[0-9a-f]{16}\b")


def uid_text(kind: str, name: str) -> str:
    """A UID as the recorder writes it."""
    return f"<uid of {'pod' if kind == 'Pod' else kind} {name}>"


class Uids:
    """Both ways between the recorder's UIDs and ours.

    The second object of a kind and name is another one for KubeVirt; the recorder writes the same.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def of(self, text: str, count: int = 1) -> str:
        """Our UID of the `count`-th object that the recorder writes so."""
        uid = f"uid-{short_digest(f'{text}/{count}', 16)}"
        self._texts[uid] = text
        return uid

    def ours(self, value: Any) -> Any:
        """Plain data with our UIDs."""
        return json.loads(_TEXT.sub(lambda found: self.of(found[0]), json.dumps(value)))

    def theirs(self, text: str) -> str:
        """A text with the recorder's UIDs."""
        return _ID.sub(lambda found: self._texts.get(found[0], found[0]), text)
