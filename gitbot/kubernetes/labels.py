"""Valid names, label keys and label values, with the API server's messages.

Source: apimachinery, pkg/util/validation/validation.go. Every function returns the problems of
a text; an empty list means that the text is valid.
"""

from __future__ import annotations

import re

MANAGED_BY = "app.kubernetes.io/managed-by"
APP_NAME = "app.kubernetes.io/name"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""The key of the taint of a cordoned node."""

_NAME_EXPRESSION = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_EXPRESSION = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_SUBDOMAIN_EXPRESSION = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME = re.compile(_NAME_EXPRESSION)
_VALUE = re.compile(_VALUE_EXPRESSION)
_SUBDOMAIN = re.compile(_SUBDOMAIN_EXPRESSION)
_ALPHANUMERIC = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_KEY_EXAMPLES = (
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_NAME_EXPRESSION}')"
)


def subdomain_problems(text: str) -> list[str]:
    """The problems of an RFC 1123 subdomain: names of objects, prefixes of label keys."""
    found = [] if len(text) <= 253 else ["must be no more than 253 characters"]
    if _SUBDOMAIN.fullmatch(text) is None:
        found.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character (e.g. "
            f"'example.com', regex used for validation is '{_SUBDOMAIN_EXPRESSION}')"
        )
    return found


def label_key_problems(text: str) -> list[str]:
    """The problems of a qualified name: optional subdomain and slash, then up to 63 characters."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        text = (
            f"a qualified name must {_ALPHANUMERIC} {_KEY_EXAMPLES} with an optional DNS "
            "subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )
        return [text]
    found = []
    if slash and not prefix:
        found.append("prefix part must be non-empty")
    elif slash:
        found.extend(f"prefix part {problem}" for problem in subdomain_problems(prefix))
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append("name part must be no more than 63 characters")
    if _NAME.fullmatch(name) is None:
        found.append(f"name part must {_ALPHANUMERIC} {_KEY_EXAMPLES}")
    return found


def label_value_problems(text: str) -> list[str]:
    """The problems of a label's value: empty, or up to 63 characters."""
    found = [] if len(text) <= 63 else ["must be no more than 63 characters"]
    if _VALUE.fullmatch(text) is None:
        found.append(
            f"a valid label must be an empty string or {_ALPHANUMERIC} (e.g. 'MyValue',  or "
            "'my_value',  or '12345', regex used for validation is "
            f"'{_VALUE_EXPRESSION}')"
        )
    return found
