"""RFC 1123 labels, with kube-apiserver's words for what is wrong."""

from __future__ import annotations

import re

_LABEL_EXPRESSION = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL = re.compile(_LABEL_EXPRESSION)
_SUBDOMAIN = re.compile(rf"{_LABEL_EXPRESSION}(\.{_LABEL_EXPRESSION})*")


def label_problems(text: str) -> list[str]:
    """For an RFC 1123 label: host names, names of disks and claims."""
    found = [] if len(text) <= 63 else ["must be no more than 63 characters"]
    if _LABEL.fullmatch(text) is not None:
        return found
    if _SUBDOMAIN.fullmatch(text) is not None:
        return [*found, "must not contain dots"]
    text = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
        f"regex used for validation is '{_LABEL_EXPRESSION}')"
    )
    return [*found, text]
