"""Untrusted text made harmless, one function for each place where it is printed.

Names, labels, notes and error texts come from people and clusters. They are always shown as text:
no markup, no link, no mention, no image, no terminal escape, no reordering.
"""

from __future__ import annotations

import re
import unicodedata

# U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069 reorder text; U+2028 and U+2029 break
# lines; the others show nothing (Default_Ignorable_Code_Point of Unicode, and the empty U+2800).
_HIDDEN = re.compile(
    "[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef]"
)
_PLAIN_CODE = re.compile(r"[0-9A-Za-z][0-9A-Za-z ._/:=,-]*")
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#!|~&$^\"']|(?<=[0-9])[.)](?= |$)|^[-+=]")
# GitHub looks for these in the rendered text, where an entity is a plain character again: only a
# character in between stops it. Mentions, issues, links, emoji, GH-1, commit ids.
_REFERENCE = re.compile(r"@|#|:(?=\S)|(?i:(?<=www)\.)|(?i:(?<=\bgh)-)")
_COMMIT = re.compile(r"(?<![0-9A-Za-z])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{7,}(?![0-9A-Za-z])")
_ZERO_WIDTH_SPACE = "&#8203;"


def plain(text: str) -> str:
    """One line of printable text: control, bidi and zero-width characters become U+XXXX."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in "\n\t\r":
        return " "
    if character.isascii() and character.isprintable():
        return character
    hidden = _HIDDEN.match(character) or unicodedata.category(character)[0] == "C"
    return f"U+{ord(character):04X}" if hidden else character


def lines(text: str) -> str:
    """Like `plain`, but line feeds stay."""
    return "\n".join(plain(line) for line in text.split("\n"))


def markdown(text: str) -> str:
    """Text inside a Markdown paragraph or table cell.

    Characters with a meaning become entities, which are never parsed as markup (CommonMark 0.31,
    section 2.5); what GitHub would link after rendering is split by a zero-width space.
    """
    marked = _REFERENCE.sub(lambda match: match.group() + "\0", plain(text).strip())
    marked = _COMMIT.sub(lambda match: "\0".join(re.findall(".{1,6}", match.group())), marked)
    return _MARKUP.sub(_entity, marked).replace("\0", _ZERO_WIDTH_SPACE)


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match.group())};"


def code(text: str) -> str:
    """Text as inline code inside Markdown, also in table cells. GitHub links nothing in code."""
    if _PLAIN_CODE.fullmatch(text):
        return f"`{text.rstrip()}`"
    return f"<code>{re.sub(r'[^0-9A-Za-z ]', _entity, plain(text))}</code>"


def fence(text: str, language: str) -> str:
    """Lines as a code block that nothing inside can close."""
    runs = re.findall("`+", text)
    marks = "`" * max(3, 1 + max(map(len, runs), default=0))
    return f"{marks}{language}\n{lines(text.rstrip())}\n{marks}"


def html(text: str) -> str:
    """Text inside an HTML element or a quoted attribute."""
    return re.sub(r"[&<>\"'`=]", _entity, lines(text))


def mermaid(text: str) -> str:
    """Text inside a quoted Mermaid label: all but letters, digits and `_/,.-` becomes `#code;`.

    A dot or dash before a space is coded too: Mermaid would read a list there.
    """
    return re.sub(
        r"[^0-9A-Za-z ._/,-]|[.-](?= |$)",
        lambda match: f"#{ord(match.group())};",
        plain(text),
    )


def cell(text: str) -> str:
    """Text in a cell of CSV, in which no spreadsheet finds a formula (OWASP, CSV injection)."""
    shown = plain(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


def sarif(text: str) -> str:
    """Text of a SARIF message, in which no viewer finds a link (SARIF 2.1.0, section 3.11.6)."""
    return lines(text).replace("](", "] (")


def terminal(text: str) -> str:
    """Text on a terminal, without escape sequences and control characters."""
    return plain(text)
