"""The LowNodeUtilizations that a descheduler's policy, or its operator's object, asks for.

A file that asks for none is an error: a default would answer another question.
Source: kubernetes-sigs/descheduler, pkg/api/v1alpha2/types.go and nodeutilization/validation.go;
openshift/cluster-kube-descheduler-operator, pkg/operator/target_config_reconciler.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from gitbot.audit.descheduler import ALL, COMBINED, PREDICTIVE, SCHEDULABLE, Utilization
from gitbot.documents import read_kubernetes_yaml
from gitbot.errors import InvalidInput, SnapshotError
from gitbot.kubernetes.objects import at
from gitbot.kubernetes.selectors import LabelMatcher, parse_selector
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.text.decoding import decoding

_POLICY, _CONFIG_MAP, _OPERATOR = "DeschedulerPolicy", "ConfigMap", "KubeDescheduler"
_VERSION = "descheduler/v1alpha2"
_LOW, _HIGH = "LowNodeUtilization", "HighNodeUtilization"
_RELIEVE = ("KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate")
_LIFECYCLE = ("LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle")
_EVICTOR, _STORED = "DefaultEvictor", "PodsWithLocalStorage"
_COMPACT = "CompactAndScale"
_DEVIATIONS = {
    "Low": (10, 10),
    "Medium": (20, 20),
    "High": (30, 30),
    "AsymmetricLow": (0, 10),
    "AsymmetricMedium": (0, 20),
    "AsymmetricHigh": (0, 30),
}
_THRESHOLDS = {"Low": (10, 30), "Medium": (20, 50), "": (20, 50), "High": (40, 70)}
_COOLDOWN = "15 minutes to 6 hours"
"""By KubevirtMigrationAware: min(6 h, max(15 min, the last migration) * 2 ** (migrations - 1)).

Source: openshift/descheduler, kubevirt-descheduler-plugins, kubevirtmigrationaware/defaults.go.
"""


def read_policy(file: str, data: bytes) -> tuple[Utilization, ...]:
    """The LowNodeUtilizations of a DeschedulerPolicy, a ConfigMap with one, or a KubeDescheduler.

    Never empty. Raises SnapshotError if the file has none of these, or asks for what is not
    judged, or is not YAML.
    """
    try:
        objects = list(_objects(read_kubernetes_yaml(data, file)))
    except InvalidInput as error:  # whose exit code means findings
        raise SnapshotError(error.message, hint=error.hint) from error
    kinds = [str(at(item, "kind", default="no kind")) for item in objects]
    if not set(kinds) & {_POLICY, _CONFIG_MAP, _OPERATOR}:
        found = ", ".join(kinds) or "no object"
        raise SnapshotError(
            f"{file}: found {found}, expected {_POLICY}, {_OPERATOR}, or a ConfigMap with a policy",
            hint="kubectl get configmap -n kube-system descheduler -o yaml",
        )
    try:
        read = tuple(found for item in objects for found in _of_object(file, item))
        missed = [words for item in objects for words in _not_judged(item)]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SnapshotError(f"{file}: the policy has another form: {error!r}") from error
    if missed or not read:
        found = "; ".join(missed) or "no plugin that compares the load of nodes"
        raise SnapshotError(
            f"{file}: found {found}, expected an enabled {_LOW}",
            hint="without --descheduler, `gitbot audit --load` takes gitbot's own thresholds",
        )
    return read


def policies_in(snapshot: ClusterSnapshot) -> tuple[Utilization, ...]:
    """The policies of the cluster's own KubeDescheduler, if it has one. Raises SnapshotError."""
    found: list[Utilization] = []
    for obj in snapshot.of(_OPERATOR):
        with decoding(_OPERATOR, obj):
            found += _of_operator(obj)
    return tuple(found)


def _objects(documents: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """What the documents hold; `kubectl get` prints several objects as one List."""
    for item in documents:
        if isinstance(item, Mapping):
            if str(item.get("kind")).endswith("List"):
                yield from _objects(item.get("items") or ())
            else:
                yield item


def _of_object(file: str, item: Mapping[str, Any]) -> Iterator[Utilization]:
    match item.get("kind"):
        case "ConfigMap":
            for key, text in sorted((item.get("data") or {}).items()):
                if _POLICY in text:
                    yield from read_policy(f"{file}: data.{key}", text.encode())
        case "DeschedulerPolicy":
            if item.get("apiVersion") != _VERSION:
                raise SnapshotError(
                    f"{file}: found apiVersion {item.get('apiVersion')}, expected {_VERSION}",
                    hint="v1alpha2 has profiles in place of strategies",
                )
            yield from _of_profiles(item)
        case "KubeDescheduler":
            yield from _of_operator(item)


def _not_judged(item: Mapping[str, Any]) -> Iterator[str]:
    """What an object asks for that would be missing in the answer, in words."""
    if item.get("kind") == _OPERATOR:
        profiles = at(item, "spec", "profiles", default=())
        if _COMPACT in profiles:
            yield f"profile {_COMPACT}, which is {_HIGH}"
        elif {*_RELIEVE, *_LIFECYCLE}.isdisjoint(profiles):
            yield f"{', '.join(profiles) or 'no profile'} in spec.profiles"
    for profile in item.get("profiles") or () if item.get("kind") == _POLICY else ():
        enabled, name = _enabled(profile), profile.get("name") or "a profile"
        given = {plugin.get("name") for plugin in profile.get("pluginConfig") or ()}
        if _HIGH in enabled:
            yield f"{_HIGH} in {name}"
        if _LOW in given and _LOW not in enabled:
            # the descheduler ignores fields that it does not know, and so runs no such plugin
            yield f"{_LOW} in {name}, not enabled under plugins.balance beside its pluginConfig"
        if _LOW in enabled and _LOW not in given:
            yield f"{_LOW} in {name} without a pluginConfig"


def _enabled(profile: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(at(profile, "plugins", "balance", "enabled", default=()))


def _of_operator(item: Mapping[str, Any]) -> Iterator[Utilization]:
    profiles = set(at(item, "spec", "profiles", default=()))
    given = at(item, "spec", "profileCustomizations", default={})
    mode = str(at(item, "spec", "mode", default=PREDICTIVE))
    fixed, deviation = given.get("devLowNodeUtilizationThresholds"), _deviation(given)
    if not profiles.isdisjoint(_RELIEVE):
        deviates = fixed is None or not fixed
        low, high = _DEVIATIONS[deviation or "AsymmetricLow"] if deviates else _THRESHOLDS[fixed]
        yield Utilization(
            under={COMBINED: Fraction(low)},
            over={COMBINED: Fraction(high)},
            deviation=deviates,
            basis="combined",
            labels=SCHEDULABLE,
            mode=mode,
            name=_RELIEVE[0],
            cooldown=_COOLDOWN,
        )
    for name in _LIFECYCLE:
        if name in profiles:
            measured = bool(given.get("devActualUtilizationProfile"))
            names = (COMBINED,) if measured else ("cpu", "memory", "pods")
            low, high = _THRESHOLDS[fixed or ""]
            yield Utilization(
                under=dict.fromkeys(names, Fraction(low)),
                over=dict.fromkeys(names, Fraction(high)),
                basis="combined" if measured else "requests",
                mode=mode,
                name=name,
            )


def _deviation(given: Mapping[str, Any]) -> str:
    """Raises ValueError for two settings of which the operator takes one."""
    deviation = str(given.get("devDeviationThresholds") or "")
    if deviation and given.get("devLowNodeUtilizationThresholds") is not None:
        raise ValueError(
            "found devLowNodeUtilizationThresholds and devDeviationThresholds, expected one"
        )
    return deviation


def _of_profiles(policy: Mapping[str, Any]) -> Iterator[Utilization]:
    for profile in policy.get("profiles") or ():
        for plugin in profile.get("pluginConfig") or ():
            if plugin.get("name") != _LOW or _LOW not in _enabled(profile):
                continue
            args = plugin.get("args") or {}
            deviation = bool(args.get("useDeviationThresholds"))
            under, over = _thresholds(args, deviation)
            _check(args)
            yield Utilization(
                under=under,
                over=over,
                deviation=deviation,
                basis=_basis(args.get("metricsUtilization") or {}),
                labels=_labels(str(policy.get("nodeSelector") or "")),
                keeps_local=_keeps_local(profile),
                spare=int(args.get("numberOfNodes") or 0),
                excluded=tuple(at(args, "evictableNamespaces", "exclude", default=())),
            )


def _thresholds(
    args: Mapping[str, Any], deviation: bool
) -> tuple[Mapping[str, Fraction], Mapping[str, Fraction]]:
    """Raises ValueError for those with which the descheduler does not start."""
    under, over = (_percents(args.get(key)) for key in ("thresholds", "targetThresholds"))
    if not under or under.keys() != over.keys():
        raise ValueError(
            "thresholds and targetThresholds: expected the same resources, at least one"
        )
    for name, low in under.items():
        for value in (low, over[name]):
            if not 0 <= value <= 100:
                raise ValueError(f"thresholds: {name}: found {value}, expected 0 to 100 percent")
        if low > over[name] and not deviation:
            raise ValueError(
                f"thresholds: {name}: found {low}, expected at most its target, {over[name]}"
            )
    return under, over


def _check(args: Mapping[str, Any]) -> None:
    """Raises ValueError for other arguments with which the descheduler does not start."""
    if at(args, "evictableNamespaces", "include", default=()):
        raise ValueError("evictableNamespaces.include: expected only exclude")
    metrics = args.get("metricsUtilization") or {}
    if metrics.get("source") == "Prometheus" and not at(metrics, "prometheus", "query"):
        raise ValueError("metricsUtilization.prometheus.query: expected a query")
    if metrics.get("source") == "KubernetesMetrics" and metrics.get("metricsServer"):
        raise ValueError("metricsUtilization: found source and metricsServer, expected one")


def _keeps_local(profile: Mapping[str, Any]) -> bool:
    """Whether the profile's DefaultEvictor leaves pods with local storage, as by default."""
    found = [it for it in profile.get("pluginConfig") or () if it.get("name") == _EVICTOR]
    args = (found[0].get("args") or {}) if found else {}
    open_to = at(args, "podProtections", "defaultDisabled", default=())
    return not args.get("evictLocalStoragePods") and _STORED not in open_to


def _percents(given: Mapping[str, Any] | None) -> dict[str, Fraction]:
    return {str(name): Fraction(str(value)) for name, value in sorted((given or {}).items())}


def _basis(metrics: Mapping[str, Any]) -> str:
    if metrics.get("source") == "Prometheus":
        return "combined"
    return "load" if metrics.get("metricsServer") or metrics.get("source") else "requests"


def _labels(selector: str) -> LabelMatcher:
    try:
        return parse_selector(selector) if selector else ALL
    except ValueError as error:
        raise ValueError(f"nodeSelector: {error}") from error
