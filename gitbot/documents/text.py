"""Bytes to text: UTF-8 only, every character that editors or reviewers could misread refused.

CRLF and LF end a line, and a byte order mark of UTF-8 at the start is skipped. A lone CR, U+0085,
U+2028 and U+2029 are refused where they stand: YAML readers, editors and diffs do not agree on
whether they end a line, so a reviewer could see something else than gitbot reads.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import islice

from gitbot.documents.positions import Position
from gitbot.model.findings import Finding, Severity

BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_RAW = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)
_IN_TEXT = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDI}\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n|\n|\r")
_MOST = 1000  # refused characters of one file that are named
_NAMES = {
    "\r": "a carriage return without line feed",
    "\x85": "the line break U+0085",
    "\u2028": "the line separator U+2028",
    "\u2029": "the paragraph separator U+2029",
    "\ufeff": "a byte order mark inside the file (U+FEFF)",
    "\x00": "the character NUL (U+0000)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A file's text for the parser, and the places of characters that are refused.

    `text` has the length of the original; refused characters are replaced, so that reading goes on
    and all other errors are found in the same run. `refused` maps character offsets to characters.
    """

    text: str
    refused: dict[int, str]
    line_starts: tuple[int, ...]

    def position(self, index: int) -> Position:
        """Line and column of a character offset, as editors count them."""
        line = bisect_right(self.line_starts, index)
        return Position(line=line, column=index - self.line_starts[line - 1] + 1)


class RefusedCharacters:
    """The refused characters that no finding has named yet, by offset."""

    def __init__(self, characters: dict[int, str]) -> None:
        self._characters = dict(characters)
        self._offsets = sorted(characters)

    def take(self, begin: int, end: int) -> str | None:
        """Take those in [begin, end) away; the first of them."""
        low, high = bisect_left(self._offsets, begin), bisect_left(self._offsets, end)
        taken = [self._characters.pop(offset, None) for offset in self._offsets[low:high]]
        return next((char for char in taken if char is not None), None)

    def left(self) -> list[tuple[int, str]]:
        """Those not taken, sorted by offset."""
        return sorted(self._characters.items())


def text_of(characters: str) -> Text:
    """Prepare decoded text for the parser."""
    found = islice(_RAW.finditer(characters), _MOST)
    refused = {match.start(): match.group() for match in found}
    starts = (0, *(match.end() for match in _LINE_END.finditer(characters)))
    if refused:
        characters = _RAW.sub(_replacement, characters)
    return Text(text=characters, refused=refused, line_starts=starts)


def _replacement(match: re.Match[str]) -> str:
    return "\n" if match.group() == "\r" else "\ufffd"


def decode(data: bytes, file: str) -> tuple[str, Finding | None]:
    """UTF-8 text of a file without its byte order mark, or the finding that says why not."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "", _encoding(file, "found UTF-16 text", Position(line=1, column=1))
    zeros = [byte == 0 for byte in data[:4]] if 0 in data[:4] else []
    if len(zeros) == 4 and any(zeros[:2]) and zeros[:2] == zeros[2:]:
        return "", _encoding(file, "found UTF-16 text", Position(line=1, column=1))
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
    return Finding(
        code="documents/encoding",
        severity=Severity.ERROR,
        message=f"{found}, expected UTF-8",
        file=file,
        line=place.line,
        column=place.column,
        hint="save the file as UTF-8",
    )


def refused_in(value: str) -> str | None:
    """The first character of a scalar that no field may hold; None where all are fine."""
    match = _IN_TEXT.search(value)
    return match.group() if match else None


def shown_in(value: str) -> str:
    """The text with each character that no field may hold as U+XXXX, for people to read."""
    return _IN_TEXT.sub(lambda match: f"U+{ord(match.group()):04X}", value)


def name_of_character(char: str) -> str:
    """How messages name a refused character."""
    if char in _NAMES:
        return _NAMES[char]
    code = f"U+{ord(char):04X}"
    if re.match(f"[{BIDI}]", char):
        return f"the bidi control {code}"
    if "\ud800" <= char <= "\udfff":
        return f"the lone surrogate {code}"
    return f"the control character {code}"
