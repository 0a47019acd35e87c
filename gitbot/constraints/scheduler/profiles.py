"""The profiles that a KubeSchedulerConfiguration or OpenShift's Scheduler asks for.

Source: kubernetes/kubernetes, pkg/scheduler/apis/config/v1/default_plugins.go (mergePluginSet) and
framework/runtime/framework.go (expandMultiPointPlugins); openshift/cluster-kube-scheduler-operator,
bindata/assets/config and pkg/operator/targetconfigcontroller/targetconfigcontroller.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitbot.documents import ParsedDocument, Path, read_documents
from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import at, labels_of, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.scheduler_profile import (
    DEFAULT_FILTERS,
    DEFAULT_NAME,
    DEFAULT_PROFILES,
    DEFAULT_WEIGHTS,
    SchedulerProfile,
    SchedulerProfiles,
    Unjudged,
)
from gitbot.model.plan.findings import Severity

_KIND, _VERSION = "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1"
_OPENSHIFT_NODE = "node.openshift.io/os_id"
_OPENSHIFT_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "LowNodeUtilization": {},
    "HighNodeUtilization": {
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
        ],
        "plugins": {
            "score": {
                "disabled": [{"name": "NodeResourcesBalancedAllocation"}],
                "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
            }
        },
    },
    "NoScoring": {
        "plugins": {
            "preScore": {"disabled": [{"name": "*"}]},
            "score": {"disabled": [{"name": "*"}]},
        }
    },
}
_FREE = frozenset({"NodeUnschedulable", "PodTopologySpread", "InterPodAffinity"})
"""Filters of the scheduler alone: a kubelet or a volume refuses what the others refuse."""
_PREPARED = frozenset(DEFAULT_FILTERS) - {"NodeUnschedulable", "NodeName", "TaintToleration"}
"""Filters that fail without their PreFilter."""
_SCORE_PREPARED = frozenset(
    {"InterPodAffinity", "NodeAffinity", "PodTopologySpread", "TaintToleration"}
)
"""Scores that fail without their PreScore."""
_OTHERS = (
    "SchedulingGates",
    "PrioritySort",
    "DefaultPreemption",
    "DefaultBinder",
    "DeferredPodScheduling",
    "GangScheduling",
    "NodeDeclaredFeatures",
    "PodGroupPodsCount",
    "TopologyPlacementGenerator",
)
_OWN = frozenset({*DEFAULT_FILTERS, *DEFAULT_WEIGHTS, *_OTHERS})
_POINTS = (
    "multiPoint",
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
_UNRELATED = frozenset(
    {
        "apiVersion",
        "kind",
        "clientConnection",
        "delayCacheUntilActive",
        "enableContentionProfiling",
        "enableProfiling",
        "leaderElection",
        "parallelism",
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
        "profiles",
        "percentageOfNodesToScore",
    }
)
"""Fields that change no verdict, or that are read below."""
_OF_PROFILE = frozenset({"percentageOfNodesToScore", "pluginConfig", "plugins", "schedulerName"})
_UNUSED: Mapping[str, tuple[str, ...]] = {
    "DefaultPreemption": ("minCandidateNodesAbsolute", "minCandidateNodesPercentage"),
    "DynamicResources": ("filterTimeout", "bindingTimeout"),
    "VolumeBinding": ("bindTimeoutSeconds",),
}
"""Arguments that change no verdict."""
_EVEN: Any = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "InterPodAffinity": {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False},
    "PodTopologySpread": {"defaultingType": "System", "defaultConstraints": []},
}
"""Arguments that are the defaults."""
_NOTHING = object()


_UNREAD = SchedulerProfiles(
    profiles={
        DEFAULT_NAME: SchedulerProfile(
            unjudged=(
                Unjudged(
                    words="its profile on OpenShift was not read; "
                    "`kubectl get schedulers.config.openshift.io -o yaml` adds it"
                ),
            )
        )
    }
)


def _is_openshift(snapshot: ClusterSnapshot) -> bool:
    return any(_OPENSHIFT_NODE in labels_of(node) for node in snapshot.of("Node"))


def profiles_of(snapshot: ClusterSnapshot) -> SchedulerProfiles:
    """The profiles of the cluster's scheduler: a file that was given wins over OpenShift's."""
    if snapshot.profiles is not None:
        return snapshot.profiles
    found = next(iter(snapshot.of("Scheduler")), None)
    if found is None:
        unread = snapshot.unread("Scheduler") and _is_openshift(snapshot)
        return _UNREAD if unread else DEFAULT_PROFILES
    source = f"schedulers.config.openshift.io/{name_of(found).name}"
    asked, policy = at(found, "spec", "profile") or "", at(found, "spec", "policy", "name") or ""
    unjudged: tuple[Unjudged, ...] = ()
    if policy:
        unjudged += (Unjudged(words=f"policy {policy}: the operator refuses it", file=source),)
    if asked and asked not in _OPENSHIFT_PROFILES:
        unjudged += (Unjudged(words=f"profile {asked} is unknown", file=source),)
    raw = _OPENSHIFT_PROFILES.get(str(asked), {})
    profile = _ProfileReader(file=source).profile(raw, (), unjudged=unjudged, percentage=0)
    return SchedulerProfiles(source=source, profiles={profile.name: profile})


class UnreadProfiles(SnapshotError):
    """A file that has no profiles; `line` is 0 for the whole file."""

    def __init__(self, file: str, line: int, message: str, hint: str = "") -> None:
        super().__init__(f"{file}:{line}: {message}" if line else f"{file}: {message}", hint=hint)
        self.line, self.detail = line, message


def read_profiles(file: str, data: bytes) -> SchedulerProfiles:
    """The profiles of a KubeSchedulerConfiguration, or of a ConfigMap that holds one.

    Raises UnreadProfiles if the file has none or several, or one that kube-scheduler would refuse.
    """
    found = [*_configurations(file, data, 0)]
    if len(found) != 1:
        raise UnreadProfiles(
            file,
            0,
            f"found {len(found) or 'no'} {_KIND}, expected one of {_VERSION}",
            hint="give the file of kube-scheduler's --config, or the ConfigMap that holds it",
        )
    value, reading = found[0]
    if value.get("apiVersion") != _VERSION:
        raise reading.refused(("apiVersion",), f"{value.get('apiVersion')}", _VERSION)
    return SchedulerProfiles(source=file, profiles=reading.profiles(value))


def _configurations(
    file: str, data: bytes, offset: int
) -> Iterator[tuple[Mapping[str, Any], _ProfileReader]]:
    documents, findings = read_documents(data, file)
    for finding in findings:
        if finding.severity is Severity.ERROR:
            raise UnreadProfiles(file, offset + finding.line, finding.message, finding.hint)
    for document in documents:
        value = document.value
        if not isinstance(value, Mapping):
            continue
        if value.get("kind") == _KIND:
            yield value, _ProfileReader(file=file, document=document, offset=offset)
        elif value.get("kind") == "ConfigMap" and isinstance(value.get("data"), Mapping):
            for key, text in sorted(value["data"].items()):
                if isinstance(text, str) and _KIND in text:
                    line = document.positions.value(("data", key)).line
                    # a block of lines begins one line below its key
                    yield from _configurations(file, text.encode(), line if "\n" in text else 0)


class _ProfileReader:
    """One configuration: places of its parts, and what of it is not judged."""

    def __init__(
        self, *, file: str, document: ParsedDocument | None = None, offset: int = 0
    ) -> None:
        self._file, self._document, self._offset = file, document, offset
        self._unjudged: list[Unjudged] = []

    def profiles(self, value: Mapping[str, Any]) -> Mapping[str, SchedulerProfile]:
        for key in sorted(set(value) - _UNRELATED):
            if value[key] or key != "extenders":
                self._note((key,), f"{key} is not judged")
        common, self._unjudged = tuple(self._unjudged), []
        percentage = self._count(value, ("percentageOfNodesToScore",))
        listed = self._list(value.get("profiles"), ("profiles",)) or [{}]
        found: dict[str, SchedulerProfile] = {}
        for number, raw in enumerate(listed):
            path: Path = ("profiles", number)
            profile = self.profile(raw, path, unjudged=common, percentage=percentage)
            if profile.name in found:
                raise self.refused(path, f"profile {profile.name} twice", "one of each name")
            found[profile.name] = profile
        return found

    def profile(
        self,
        raw: Mapping[str, Any],
        path: Path,
        *,
        unjudged: tuple[Unjudged, ...],
        percentage: int,
    ) -> SchedulerProfile:
        self._unjudged = []
        for key in sorted(set(raw) - _OF_PROFILE):
            self._note((*path, key), f"{key} of a profile is not judged")
        name = str(raw.get("schedulerName") or DEFAULT_NAME)
        plugins = self._mapping(raw.get("plugins"), (*path, "plugins"))
        points = {
            point: self._point(plugins.get(point), (*path, "plugins", point)) for point in _POINTS
        }
        for key in sorted(set(plugins) - set(_POINTS)):
            self._note((*path, "plugins", key), f"extension point {key} is not judged")
        self._foreign(points, path)
        most = self._arguments(raw, path)
        own = self._count(raw, (*path, "percentageOfNodesToScore"))
        return SchedulerProfile(
            name=name,
            without=self._without(points, path),
            weights=self._weights(points, path),
            most_allocated=most,
            percentage=own or percentage,
            unjudged=(*unjudged, *self._unjudged),
        )

    def _without(self, points: Mapping[str, _ExtensionPoint], path: Path) -> frozenset[str]:
        on = {name for name in DEFAULT_FILTERS if _is_on(points, "filter", name)}
        off = [name for name in DEFAULT_FILTERS if name not in on]
        kept = [name for name in off if name not in _FREE]
        where = (*path, "plugins", "filter" if points["filter"].given else "multiPoint")
        if kept:
            words = f"filters {', '.join(kept)} are off, and gitbot keeps them: a pod that one of"
            self._note(where, f"{words} them refuses would not start on that node")
        broken = sorted(name for name in on & _PREPARED if not _is_on(points, "preFilter", name))
        if broken:
            words = f"{', '.join(broken)} filter without their preFilter: not judged"
            self._note((*path, "plugins", "preFilter"), words)
        return frozenset(off) & _FREE

    def _weights(self, points: Mapping[str, _ExtensionPoint], path: Path) -> Mapping[str, int]:
        found = {}
        for name, usual in DEFAULT_WEIGHTS.items():
            if _is_on(points, "score", name):
                multi = points["multiPoint"].enabled.get(name, usual)
                # kube-scheduler takes a weight that is not given as 1
                found[name] = points["score"].enabled.get(name, multi) or 1
        broken = sorted(_SCORE_PREPARED & {n for n in found if not _is_on(points, "preScore", n)})
        if broken:
            words = f"{', '.join(broken)} score without their preScore: not judged"
            self._note((*path, "plugins", "preScore"), words)
        return found

    def _foreign(self, points: Mapping[str, _ExtensionPoint], path: Path) -> None:
        """Notes plugins that are not kube-scheduler's own, and points that nothing here follows."""
        for point, given in points.items():
            where = (*path, "plugins", point)
            foreign = sorted(set(given.enabled) - _OWN)
            if foreign:
                words = f"{', '.join(foreign)}: no plugin of kube-scheduler's own, so not judged"
                self._note((*where, "enabled"), words)
        if points["postFilter"].disabled:
            words = "postFilter: gitbot names preemption as if it were on"
            self._note((*path, "plugins", "postFilter"), words)

    def _arguments(self, raw: Mapping[str, Any], path: Path) -> bool:
        """Whether NodeResourcesFit prefers full nodes; notes every argument that is not judged."""
        most = False
        listed = self._list(raw.get("pluginConfig"), (*path, "pluginConfig"))
        for number, item in enumerate(listed):
            where: Path = (*path, "pluginConfig", number)
            self._known(item, where, ("args", "name"))
            name, args = item.get("name"), self._mapping(item.get("args"), (*where, "args"))
            for key, value in sorted(args.items()):
                if key in ("apiVersion", "kind") or (not value and value != 0):
                    continue
                if name == "NodeResourcesFit" and key == "scoringStrategy":
                    most = self._strategy(value, (*where, "args", key))
                elif name == "NodeResourcesBalancedAllocation" and key == "resources":
                    self._even(value, (*where, "args", key))
                elif key in _UNUSED.get(str(name), ()) or _is_usual(str(name), key, value):
                    continue
                else:
                    self._note((*where, "args", key), f"{key} of {name} is not judged")
        return most

    def _strategy(self, value: Any, path: Path) -> bool:
        given = self._mapping(value, path)
        found = given.get("type") or "LeastAllocated"
        if found not in ("LeastAllocated", "MostAllocated"):
            self._note((*path, "type"), f"scoringStrategy {found} is not judged")
        if given.get("resources"):
            self._even(given["resources"], (*path, "resources"))
        return bool(found == "MostAllocated")

    def _even(self, value: Any, path: Path) -> None:
        listed = [{"weight": 1, **item} for item in self._list(value, path)]
        if sorted(listed, key=lambda item: str(item.get("name"))) != [*_EVEN]:
            self._note(path, "scores weigh cpu and memory alike: other resources are not judged")

    def _point(self, raw: Any, path: Path) -> _ExtensionPoint:
        given = self._mapping(raw, path)
        self._known(given, path, ("disabled", "enabled"))
        enabled = {}
        for number, item in enumerate(self._list(given.get("enabled"), (*path, "enabled"))):
            self._known(item, (*path, "enabled", number), ("name", "weight"))
            enabled[str(item.get("name"))] = self._count(item, (*path, "enabled", number, "weight"))
        listed = self._list(given.get("disabled"), (*path, "disabled"))
        for number, item in enumerate(listed):
            self._known(item, (*path, "disabled", number), ("name", "weight"))
        return _ExtensionPoint(enabled, frozenset(str(item.get("name")) for item in listed))

    def _known(self, value: Mapping[str, Any], path: Path, keys: tuple[str, ...]) -> None:
        """Refuse a misspelled key, as kube-scheduler does: its decoder is strict."""
        for key in value:
            if key not in keys:
                raise self.refused((*path, key), f"key {key}", f"one of {', '.join(keys)}")

    def _count(self, value: Mapping[str, Any], path: Path) -> int:
        """A number from 0; 0 if it is not given."""
        found = value.get(str(path[-1]))
        if found is None:
            return 0
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise self.refused(path, f"{found!r}", "a number from 0")
        return found

    def _mapping(self, value: Any, path: Path) -> Mapping[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.refused(path, "another form", "a mapping")
        return value

    def _list(self, value: Any, path: Path) -> list[Mapping[str, Any]]:
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self.refused(path, "another form", "a list of mappings")
        return value

    def refused(self, path: Path, found: str, expected: str) -> UnreadProfiles:
        key = ".".join(map(str, path))
        said = f"{key}: found {found}, expected {expected}"
        return UnreadProfiles(self._file, self._line(path), said)

    def _line(self, path: Path) -> int:
        if self._document is None:
            return 0
        return self._offset + self._document.positions.key(path).line

    def _note(self, path: Path, words: str) -> None:
        self._unjudged.append(Unjudged(words=words, file=self._file, line=self._line(path)))


class _ExtensionPoint:
    """One extension point: names with their weights (0: none given), and the names that are off."""

    def __init__(self, enabled: Mapping[str, int], disabled: frozenset[str]) -> None:
        self.enabled, self.disabled = enabled, disabled

    @property
    def given(self) -> bool:
        return bool(self.enabled or self.disabled)

    def takes_off(self, name: str) -> bool:
        return name not in self.enabled and not self.disabled.isdisjoint({"*", name})


def _is_on(points: Mapping[str, _ExtensionPoint], point: str, name: str) -> bool:
    """Whether a default plugin runs at a point: its own list goes before multiPoint's."""
    own = points[point]
    if name in own.enabled:
        return True
    return not own.takes_off(name) and not points["multiPoint"].takes_off(name)


def _is_usual(name: str, key: str, value: Any) -> bool:
    return bool(_USUAL.get(name, {}).get(key, _NOTHING) == value)
