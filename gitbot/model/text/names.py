"""gitbot's own names: API version, configuration file, references to intents; also Git's refs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

ApiVersion = Literal["placement.gitbot.dev/v1alpha1"]
(API_VERSION,) = get_args(ApiVersion)
"""The apiVersion of every document that gitbot reads or writes."""
CONFIGURATION_FILE = ".gitbot.yaml"
CORDON_LABEL = "placement.gitbot.dev/cordon"
"""On a node that gitbot has cordoned: for which opening of a window."""
OWN_AUTHOR = "gitbot"
"""The author of gitbot's commits, whatever its account on the forge is."""
LIMIT_HARD_ANTI_AFFINITY = "LimitPodHardAntiAffinityTopology"
"""The admission plugin that allows required anti-affinity by hostname only."""
VM_TERMS = "VirtualMachineInstance"
"""The kind in the ref of a rule from VMs' own specs; the name is that of the first VM."""
VM_PLACES = "VirtualMachine"
"""The same for terms of VMs that are rules only while they are broken."""
OWN_TERMS = (VM_PLACES, VM_TERMS)


_NO_NAME = re.compile(r"(?:[^a-z0-9.]|\.(?![a-z0-9])|(?<![a-z0-9])\.)+")
_LONGEST = 40  # characters of a name that is made from words


def words_as_name(text: str) -> str:
    """`quarter-close` for `Quarter close!`: a name for an intent and its branch; "" from none."""
    return _NO_NAME.sub("-", text.lower())[:_LONGEST].strip("-.")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class IntentRef:
    """The intent behind a constraint, goal or move, so that messages can show `file:line`."""

    kind: str
    namespace: str  # "" for kinds without a namespace
    name: str
    file: str = ""
    line: int = 0

    @property
    def id(self) -> str:
        """`Kind/namespace/name` (`Kind/name` without a namespace), stable over files and lines."""
        parts = (self.kind, self.namespace, self.name) if self.namespace else (self.kind, self.name)
        return "/".join(parts)

    @property
    def namespaced(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def of_vm(self) -> bool:
        """Whether it refers to requirements in the specs of VMs, and not to an intent."""
        return self.kind in OWN_TERMS

    @property
    def where(self) -> str:
        """`file:line`, or the id if no file is known."""
        return f"{self.file}:{self.line}" if self.file else self.id


BAD_REF = r"[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|//|^[-/.]|/\.|[/.]$|\.lock(/|$)|^@$"
"""Matches names of branches and tags that Git refuses, and a little more (no `-` in front).

JSON Schema accepts the pattern as well.
"""
DailyNotice = Literal[
    "Approved",
    "BreakerOpened",
    "Failed",
    "Moved",
    "NodeReady",
    "NodeReturned",
    "NotApproved",
    "Proposed",
    "Resumed",
    "RuleBroken",
    "Stopped",
    "WindowBegun",
    "WindowSoon",
]
"""What gitbot tells webhooks, and what may wait for a notice of the whole day."""
NoticeEvent = Literal[DailyNotice, "Weekly", "WindowAtRisk"]
"""All that gitbot tells webhooks: lines of the ledger, and what a pass saw."""
NoticeSeverity = Literal["Info", "Warning", "Error"]
"""The severities of notices, the least first."""
