"""Functions of Kubernetes' CEL environment that the engine lacks, as pure functions.

What it brings itself is used: sets, strings, optional values, two variables, matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitbot.policy.library import addresses, quantity, semver, texts, url
from gitbot.policy.library.patterns import all_matches
from gitbot.policy.library.values import TYPE, CelFunction

LIBRARIES: Mapping[str, Sequence[CelFunction]] = {
    "quantity": quantity.FUNCTIONS,
    "semver": semver.FUNCTIONS,
    "ip, cidr": addresses.FUNCTIONS,
    "url": url.FUNCTIONS,
    "format, lists": texts.FUNCTIONS,
}

__all__ = ["LIBRARIES", "TYPE", "CelFunction", "all_matches"]
