"""The forms of text that fields hold: names, labels, durations, times, zones, amounts.

Each function takes the text as written and returns its value, or raises Refusal, which says what
was expected and what to do. Names and labels follow Kubernetes (apimachinery,
util/validation/validation.go); durations are ISO 8601 without months and years.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache
from pkgutil import get_data

from gitbot.documents.words import nearest
from gitbot.model.instants import FOREVER
from gitbot.model.quantities import nanos

DAY = 86_400
LONGEST = 3660 * DAY

# Patterns are in the subset that Python, ECMA 262 and Rust read alike.
DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
_SIMPLE_NAME = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"  # what most names are
QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_KEY = rf"({DNS_SUBDOMAIN}/)?{QUALIFIED}"
CONCERN = r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?"
LABEL_VALUE = rf"({QUALIFIED})?"
DURATION = (
    r"P(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?"
    r"(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})S)?)?"
)
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
LOCAL_TIME = rf"{DATE}T[0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}})?"
OFFSET = r"(Z|[+-][0-9]{2}:[0-9]{2})"
INSTANT = rf"{LOCAL_TIME}{OFFSET}"
BAD_REF = r"[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|//|^[-/.]|/\.|[/.]$|\.lock(/|$)|^@$"
BAD_PATH = r"[\x00-\x1f\\\x7f]|(^|/)(\.{0,2}|\.git)(/|$)"
_GITHUB_REPOSITORY = r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}"
_KEPT = 4096  # files say the same again and again
_SECONDS = (7 * DAY, DAY, 3600, 60, 1)


@lru_cache(maxsize=64)
def _whole(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """What matches a whole text with a pattern, which is compiled when it is first needed."""
    return re.compile(pattern).fullmatch


class Refusal(ValueError):
    """A text that is not what its field holds."""

    def __init__(self, code: str, expected: str, hint: str) -> None:
        super().__init__(f"expected {expected}; {hint}")
        self.code = code
        self.expected = expected
        self.hint = hint


@lru_cache(maxsize=_KEPT)
def dns_label(text: str) -> str:
    """An RFC 1123 label: a namespace, a cluster."""
    return _name(text, DNS_LABEL, 63, "an RFC 1123 label")


def dns_subdomain(text: str) -> str:
    """An RFC 1123 subdomain: the name of an object, a VMI, a node."""
    return _name(text, DNS_SUBDOMAIN, 253, "an RFC 1123 name")


def _name(text: str, pattern: str, longest: int, what: str) -> str:
    if _whole(_SIMPLE_NAME)(text):
        return text
    parts = "letters a-z, digits and - (and . between them)"
    if longest == 63:
        parts = "letters a-z, digits and -"
    if len(text) > longest:
        raise Refusal(
            "name", f"{what} of at most {longest} characters, not {len(text)}", "shorten it"
        )
    if _whole(pattern)(text):
        return text
    lower = text.lower().replace("_", "-")
    hint = f'did you mean "{lower}"?' if _whole(pattern)(lower) else "rename it"
    raise Refusal("name", f"{what}: {parts}, beginning and ending with a letter or digit", hint)


def ref_name(text: str) -> str:
    """The name of an intent: an RFC 1123 name that can also end a Git branch name."""
    if _whole(_SIMPLE_NAME)(text) is not None:
        return text
    dns_subdomain(text)
    if text.endswith(".lock"):
        raise Refusal("name", "a name that does not end in .lock, which Git reserves", "rename it")
    return text


@lru_cache(maxsize=_KEPT)
def label_key(text: str) -> str:
    """A label key: an optional DNS prefix and a slash, then at most 63 characters."""
    prefix, slash, name = text.rpartition("/")
    good = _whole(LABEL_KEY)(text) is not None
    if not good or len(name) > 63 or (slash and len(prefix) > 253):
        raise Refusal(
            "label",
            "a label key: an optional DNS prefix and a slash, then at most 63 letters, digits, "
            "- _ or ., beginning and ending with a letter or digit",
            "see the labels of the VM",
        )
    return text


@lru_cache(maxsize=_KEPT)
def label_value(text: str) -> str:
    """A label value: at most 63 characters."""
    if len(text) > 63 or _whole(LABEL_VALUE)(text) is None:
        raise Refusal(
            "label",
            "a label value: at most 63 letters, digits, - _ or ., beginning and ending with a "
            "letter or digit",
            "see the labels of the VM",
        )
    return text


def filled_label_value(text: str) -> str:
    """A label value that is not empty: the name of a zone."""
    if not text:
        raise Refusal("label", "the value of a node label", "see the labels of the nodes")
    return label_value(text)


def concern(text: str) -> str:
    """The name of a proposal: what one bot pull request is about."""
    if len(text) > 400 or _whole(CONCERN)(text) is None or text.endswith(".lock"):
        raise Refusal("name", "the name of a concern", "only gitbot writes proposals")
    return text


def duration(text: str) -> int:
    """Seconds of an ISO 8601 duration in weeks, days (24 h), hours, minutes, seconds; over 0."""
    seconds = duration_or_zero(text)
    if seconds == 0:
        raise Refusal("duration", "a duration longer than nothing", "write PT1H for one hour")
    return seconds


@lru_cache(maxsize=_KEPT)
def duration_or_zero(text: str) -> int:
    """As `duration`, where PT0S means: no time at all."""
    match = _whole(DURATION)(text)
    if match is None or text.endswith(("P", "T")):
        raise Refusal(
            "duration",
            "a duration in weeks, days, hours, minutes and seconds",
            _duration_hint(text),
        )
    numbers = (int(number or 0) for number in match.groups())
    seconds = sum(number * unit for number, unit in zip(numbers, _SECONDS, strict=True))
    if seconds > LONGEST:
        raise Refusal("duration", "a duration of at most ten years (P3660D)", "shorten it")
    return seconds


def _duration_hint(text: str) -> str:
    if text.startswith("-"):
        return "durations are positive; write PT1H for one hour"
    if re.match(r"P[0-9.,WD]*[0-9][YM]", text):
        return "months and years have no fixed length; write days, as P30D"
    simple = _whole(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?")(text)
    if simple and text:
        days, hours, minutes = simple.groups()
        date_part = f"{days}D" if days else ""
        time_part = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
        return f"did you mean P{date_part}{'T' + time_part if time_part else ''}?"
    return "write PT4H for four hours, P3D for three days"


def duration_text(seconds: int) -> str:
    """The ISO 8601 text of whole seconds in days, hours, minutes and seconds: `P3D`, `PT0S`."""
    days, rest = divmod(seconds, DAY)
    parts = [(rest // 3600, "H"), (rest % 3600 // 60, "M"), (rest % 60, "S")]
    time_part = "".join(f"{number}{unit}" for number, unit in parts if number)
    if not days and not time_part:
        return "PT0S"
    return f"P{f'{days}D' if days else ''}{f'T{time_part}' if time_part else ''}"


@lru_cache(maxsize=_KEPT)
def instant(text: str) -> int:
    """Seconds UTC of a date and time with offset or Z."""
    if _whole(LOCAL_TIME)(text):
        raise Refusal(
            "time", "a time with its offset, or Z for UTC", f"write {text}Z, or {text}+01:00"
        )
    if _whole(INSTANT)(text) is None:
        raise Refusal(
            "time", "a date and a time with offset", 'write it as "2026-12-06T22:00+01:00"'
        )
    moment = _moment(text)
    seconds = int((moment - datetime.fromisoformat("1970-01-01T00:00:00Z")) // timedelta(seconds=1))
    if not 0 <= seconds <= FOREVER:
        raise Refusal("time", "a time between 1970 and 9999", "correct the year")
    return seconds


def local_time(text: str) -> str:
    """A local date and time without offset, as `2026-12-06T22:00:00`."""
    if _whole(INSTANT)(text):
        bare = re.sub(rf"{OFFSET}$", "", text)
        raise Refusal(
            "time", "a local time without offset", f'write "{bare}" and the zone as timeZone'
        )
    if _whole(LOCAL_TIME)(text) is None:
        raise Refusal("time", "a local date and time", 'write it as "2026-12-06T22:00"')
    return _moment(text).isoformat()


def local_date(text: str) -> str:
    """A date, as `2027-01-03`."""
    if _whole(DATE)(text) is None:
        raise Refusal("time", "a date", 'write it as "2027-01-03"')
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise Refusal("time", "a date that exists", _no_such_day(text)) from error


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise Refusal("time", "a date and time that exist", _no_such_day(text)) from error


def _no_such_day(text: str) -> str:
    year, month, day = (int(part) for part in text[:10].split("-"))
    if not 1 <= month <= 12:
        return f"there is no month {month}"
    if year < 1:
        return "there is no year 0"
    following = date(year + month // 12, month % 12 + 1, 1) if year < 9999 else date(9999, 12, 31)
    last = (following - timedelta(days=1)).day if year < 9999 else 28
    if day < 1 or (day > last and year < 9999):
        return f"that month has {last} days"
    return "hours go from 00 to 23, minutes and seconds to 59, offsets to 23:59"


@lru_cache(maxsize=1)
def zones() -> tuple[str, ...]:
    """All zone names of the tzdata package, sorted."""
    text = (get_data("tzdata", "zones") or b"").decode("ascii")
    return tuple(sorted({*text.split()} - {"Factory", "localtime"}))


def zone(text: str) -> str:
    """The name of an IANA time zone."""
    if text in zones():
        return text
    near = nearest(text, [name for name in zones() if "/" in name], cutoff=0.8)
    hint = f"did you mean {near}?" if near else "write a place, as Europe/Madrid, or UTC"
    raise Refusal("time-zone", "the name of an IANA time zone", hint)


def amount(text: str) -> int:
    """Whole units of a Kubernetes quantity, over 0: `64Mi`."""
    expected = "a quantity as Kubernetes writes it"
    try:
        value = nanos(text)
    except ValueError as error:
        raise Refusal("quantity", expected, "write 64Mi") from error
    if value <= 0 or value % 1_000_000_000:
        raise Refusal("quantity", "a whole quantity of at least 1", "write 64Mi")
    if value > 2**62 * 1_000_000_000:
        raise Refusal("quantity", "a quantity below 4Ei", "write 64Mi")
    return value // 1_000_000_000


def branch_name(text: str) -> str:
    """The short name of a branch or tag, by the rules of git check-ref-format."""
    if re.search(BAD_REF, text):
        raise Refusal("ref", "the name of a branch or tag", 'write it as "main", without refs/')
    return text


def is_github_repository(text: str) -> bool:
    """Whether the text is `owner/name` by GitHub's rules for both."""
    return _whole(_GITHUB_REPOSITORY)(text) is not None


def repository_path(text: str) -> str:
    """A path inside a repository: relative, with slashes, without `.` and `..`."""
    if re.search(BAD_PATH, text):
        raise Refusal(
            "path", "a path inside the repository", 'write it as "vms", without . or .. or a root'
        )
    return text


def digest_text(text: str) -> str:
    """`sha256:` and 64 hex digits."""
    if _whole(r"sha256:[0-9a-f]{64}")(text) is None:
        raise Refusal("digest", "sha256: and 64 hex digits", "only gitbot writes this field")
    return text
