"""Bytes to text: UTF-8 only. Refuses every character that editors or reviewers could misread.

CRLF and LF end a line, and a byte order mark of UTF-8 at the start is skipped. A lone CR, U+0085,
U+2028 and U+2029 are refused at their place: YAML readers, editors and diffs do not agree on
whether they end a line, so a reviewer could see other text than gitbot reads.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, islice

from gitbot.documents.finding_report import finding_at
from gitbot.documents.positions import TOP, Position, position_of
from gitbot.model.plan.findings import Finding

BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_RAW = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)
_IN_TEXT = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDI}\ud800-\udfff]")
_SUSPECT = re.compile(rf"[\\{BIDI}]")
# Positions of the zero bytes in a file without byte order mark that begins with ASCII letters.
_UTF_32 = (b"\1\0\0\0", b"\0\0\0\1")
_UTF_16 = (b"\1\0\1\0", b"\0\1\0\1")
_MOST = 1000  # most refused characters of one file in findings
_NAMES = {
    "\r": "a carriage return without line feed",
    "\x85": "the line break U+0085",
    "\u2028": "the line separator U+2028",
    "\u2029": "the paragraph separator U+2029",
    "\ufeff": "a byte order mark inside the file (U+FEFF)",
    "\x00": "the character NUL (U+0000)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """A file's text for the parser, and the positions of refused characters.

    `text` has the length of the original; refused characters are replaced, so that reading
    continues and finds all other errors in the same run. `refused` maps character offsets to
    characters. `suspect` is False if certainly no scalar holds a character that is refused in
    fields.
    """

    text: str
    refused: dict[int, str]
    line_starts: tuple[int, ...]
    suspect: bool

    def position(self, index: int) -> Position:
        return position_of(index, self.line_starts)


class RefusedCharacters:
    """The refused characters that no finding has reported yet, by offset."""

    def __init__(self, characters: dict[int, str]) -> None:
        self._characters = dict(characters)
        self._offsets = sorted(characters)

    def take(self, begin: int, end: int) -> str | None:
        """Remove those in [begin, end) and return the first of them."""
        low, high = bisect_left(self._offsets, begin), bisect_left(self._offsets, end)
        taken = [self._characters.pop(offset, None) for offset in self._offsets[low:high]]
        return next((char for char in taken if char is not None), None)

    def left(self) -> list[tuple[int, str]]:
        """Those not removed yet, sorted by offset."""
        return sorted(self._characters.items())


def text_of(characters: str) -> SourceText:
    found = islice(_RAW.finditer(characters), _MOST)
    refused = {match.start(): match.group() for match in found}
    if refused:
        characters = _RAW.sub(_replacement, characters)
    lines = characters.split("\n")  # every line ends in one by now
    starts = tuple(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    suspect = bool(refused) or _SUSPECT.search(characters) is not None
    return SourceText(text=characters, refused=refused, line_starts=starts, suspect=suspect)


def _replacement(match: re.Match[str]) -> str:
    return "\n" if match.group() == "\r" else "\ufffd"


def decode(data: bytes, file: str) -> tuple[str, Finding | None]:
    """UTF-8 text of a file without its byte order mark, or the finding why it is none."""
    letters = bytes(byte and 1 for byte in data[:4])
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")) or letters in _UTF_32:
        return "", _encoding(file, "found UTF-32 text", TOP)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or letters in _UTF_16:
        return "", _encoding(file, "found UTF-16 text", TOP)
    try:
        return data.decode("utf-8").removeprefix("\ufeff"), None
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        place = text_of(before).position(len(before))
        if error.reason == "unexpected end of data":
            found = "found a file that ends inside a character"
        else:
            found = f"found the byte 0x{data[error.start]:02x}, which is not UTF-8"
        return "", _encoding(file, found, place)


def _encoding(file: str, found: str, place: Position) -> Finding:
    message = f"{found}, expected UTF-8"
    return finding_at(file, place, "documents/encoding", message, hint="save the file as UTF-8")


def refused_in(value: str) -> str | None:
    """The first character of a scalar that is refused in fields; None if all are fine."""
    match = _IN_TEXT.search(value)
    return match.group() if match else None


def shown_in(value: str) -> str:
    """The text with each refused character as U+XXXX, for people to read."""
    return _IN_TEXT.sub(lambda match: f"U+{ord(match.group()):04X}", value)


def name_of_character(char: str) -> str:
    if char in _NAMES:
        return _NAMES[char]
    code = f"U+{ord(char):04X}"
    if re.match(f"[{BIDI}]", char):
        return f"the bidi control {code}"
    if "\ud800" <= char <= "\udfff":
        return f"the lone surrogate {code}"
    return f"the control character {code}"
