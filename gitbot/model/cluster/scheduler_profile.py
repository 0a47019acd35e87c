"""The profiles of a kube-scheduler: filters that are off, weights of scores, what is unjudged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT_NAME = "default-scheduler"
DEFAULT_FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
)
"""The filters of kube-scheduler that gitbot judges, by plugin, in kube-scheduler's order."""
DEFAULT_WEIGHTS: Mapping[str, int] = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "VolumeBinding": 1,
}
"""Of the scores that gitbot computes, by plugin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A part of a configuration that gitbot does not follow, and its place; line 0: none known."""

    words: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.words}" if place else self.words


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerProfile:
    """One profile. `name` is the schedulerName of its pods.

    `without` are filters that are off. `weights` are those of the scores that are on, in the order
    of `DEFAULT_WEIGHTS`. `percentage` is percentageOfNodesToScore, 0 for kube-scheduler's own.
    """

    name: str = DEFAULT_NAME
    without: frozenset[str] = frozenset()
    weights: Mapping[str, int] = field(default_factory=lambda: DEFAULT_WEIGHTS)
    most_allocated: bool = False
    percentage: int = 0
    unjudged: tuple[Unjudged, ...] = ()

    @property
    def usual(self) -> bool:
        """Whether it scores as the default profile does."""
        return self.weights == DEFAULT_WEIGHTS and not self.most_allocated


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerProfiles:
    """All profiles of a scheduler by name. `source` says where they are written."""

    source: str = ""
    profiles: Mapping[str, SchedulerProfile]

    @property
    def unjudged(self) -> tuple[Unjudged, ...]:
        """What is unjudged of all profiles, each once."""
        every = (part for profile in self.profiles.values() for part in profile.unjudged)
        return tuple(dict.fromkeys(every))


DEFAULT_PROFILE = SchedulerProfile()
DEFAULT_PROFILES = SchedulerProfiles(profiles={DEFAULT_NAME: DEFAULT_PROFILE})
