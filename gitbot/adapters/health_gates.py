"""Asks the health gates of a cluster: queries of Prometheus, and addresses."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from gitbot.adapters.clock import seconds_counted
from gitbot.adapters.one_address import no_answer, opener
from gitbot.adapters.prometheus import SECONDS, instant_vector
from gitbot.model.text.wording import counted, shortened
from gitbot.settings import HealthGateSettings

_KEPT = 15  # seconds: `apply` looks at the cluster at each phase of each migration
_SHOWN = 120  # characters of a result


class HealthGates:
    """Says why a gate is closed; "" if it is open. A gate that cannot be asked is closed."""

    def __init__(self, clock: Callable[[], float] = seconds_counted) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, str]] = {}  # by the gate: when it was asked, and why

    def __call__(self, gate: HealthGateSettings) -> str:
        asked = gate.model_dump_json()
        known, now = self._known.get(asked), self._clock()
        if known is None or now - known[0] >= _KEPT:
            why = _probed(gate.probe) if gate.probe else _queried(gate)
            said = f"health gate {gate.name} is closed: {why}" if why else ""
            known = self._known[asked] = (now, said)
        return known[1]


def _queried(gate: HealthGateSettings) -> str:
    found, why = instant_vector(gate.prometheus or "", gate.query or "")
    if why or not found:
        return why and f"Prometheus gave no result from here: {why}"
    return f"{counted(len(found), 'result')}, first {shortened(_labels(found[0]), _SHOWN)}"


def _labels(sample: Any) -> str:
    labels = sample.get("metric") if isinstance(sample, dict) else None
    if not isinstance(labels, dict) or not labels:
        return "without labels"
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _probed(address: str) -> str:
    if urlsplit(address).scheme not in ("http", "https"):
        return f"{address} is not an http address"
    request = urllib.request.Request(address, headers={"User-Agent": "gitbot"})  # noqa: S310
    try:
        with opener().open(request, timeout=SECONDS):  # any other answer than 2xx raises
            return ""
    except urllib.error.HTTPError as error:
        return f"{address} answers {error.code}"
    except (OSError, ValueError, HTTPException) as error:
        return f"{address} does not answer from here: {no_answer(error)}"
