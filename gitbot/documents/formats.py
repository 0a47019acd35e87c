"""The forms of text in fields: names, labels, amounts, branches, paths.

Each function takes the text and returns its value, or raises Refusal with the expectation and the
fix. Names and labels follow Kubernetes (apimachinery, util/validation/validation.go). The calendar
reads text about time.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitbot.kubernetes.quantities import nanos
from gitbot.model.plan.findings import Refusal
from gitbot.model.text.names import BAD_REF

# Patterns use the subset that Python, ECMA 262 and Rust read alike.
DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
_SIMPLE_NAME = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"  # the form of most names
QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_KEY = rf"({DNS_SUBDOMAIN}/)?{QUALIFIED}"
CONCERN = r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?"
LABEL_VALUE = rf"({QUALIFIED})?"
BAD_PATH = r"[\x00-\x1f\\\x7f]|(^|/)(\.{0,2}|\.git)(/|$)"
_KEPT = 4096  # files repeat the same texts


@lru_cache(maxsize=_KEPT)
def dns_label(text: str) -> str:
    """An RFC 1123 label: a namespace, a cluster."""
    return _name(text, DNS_LABEL, 63, "an RFC 1123 label")


def dns_subdomain(text: str) -> str:
    """An RFC 1123 subdomain: the name of an object, a VMI, a node."""
    return _name(text, DNS_SUBDOMAIN, 253, "an RFC 1123 name")


def _name(text: str, pattern: str, longest: int, what: str) -> str:
    if re.fullmatch(_SIMPLE_NAME, text):
        return text
    parts = "letters a-z, digits and - (and . between them)"
    if longest == 63:
        parts = "letters a-z, digits and -"
    if len(text) > longest:
        raise Refusal(
            "name", f"{what} of at most {longest} characters, not {len(text)}", "shorten it"
        )
    if re.fullmatch(pattern, text):
        return text
    lower = text.lower().replace("_", "-")
    hint = f'did you mean "{lower}"?' if re.fullmatch(pattern, lower) else "rename it"
    raise Refusal("name", f"{what}: {parts}, beginning and ending with a letter or digit", hint)


def ref_name(text: str) -> str:
    """The name of an intent: an RFC 1123 name that can also end a Git branch name."""
    if re.fullmatch(_SIMPLE_NAME, text) is not None:
        return text
    dns_subdomain(text)
    if text.endswith(".lock"):
        raise Refusal("name", "a name that does not end in .lock, which Git reserves", "rename it")
    return text


@lru_cache(maxsize=_KEPT)
def label_key(text: str) -> str:
    """A label key: an optional DNS prefix and a slash, then at most 63 characters."""
    prefix, slash, name = text.rpartition("/")
    good = re.fullmatch(LABEL_KEY, text) is not None
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
    if len(text) > 63 or re.fullmatch(LABEL_VALUE, text) is None:
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
    """The name of a proposal: the subject of one bot pull request."""
    if len(text) > 400 or re.fullmatch(CONCERN, text) is None or text.endswith(".lock"):
        raise Refusal("name", "the name of a concern", "only gitbot writes proposals")
    return text


def amount(text: str) -> int:
    """Whole units of a Kubernetes quantity above 0: `64Mi`."""
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


def repository_path(text: str) -> str:
    """A path inside a repository: relative, with slashes, without `.` and `..`."""
    if re.search(BAD_PATH, text):
        raise Refusal(
            "path", "a path inside the repository", 'write it as "vms", without . or .. or a root'
        )
    return text


def digest_text(text: str) -> str:
    """`sha256:` and 64 hex digits."""
    if re.fullmatch(r"sha256:[0-9a-f]{64}", text) is None:
        raise Refusal("digest", "sha256: and 64 hex digits", "only gitbot writes this field")
    return text
