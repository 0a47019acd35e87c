"""The cluster and the configuration that intents are compiled on in tests."""

from collections.abc import Iterable, Mapping
from typing import Any

from gitbot.intents import IntentSet, read_intents
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.findings import Finding, has_errors
from gitbot.settings import ClusterSettings, Settings
from gitbot.snapshot import from_objects
from tests.doubles.problems import NOW, node, vm

FILE = "intents/prod/x.yaml"
SETTINGS = Settings(clusters=(ClusterSettings(name="prod", time_zone="Europe/Madrid"),))
DB = {"tier": "db"}


def machine(
    name: str,
    namespace: str = "a",
    *,
    labels: Mapping[str, str] | None = None,
    template: Mapping[str, str] | None = None,
) -> KubernetesObject:
    """A VirtualMachine with labels of its own and of its template."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"template": {"metadata": {"labels": dict(template or {})}}},
        "status": {"printableStatus": "Stopped"},
    }


def small_cluster() -> list[Any]:
    """Three nodes in two zones and one without; three databases and a web VM in namespace a."""
    return [
        node("n1", zone="x"),
        node("n2", zone="y"),
        node("n3", zone="y"),
        vm("db-1", on="n1", namespace="a", labels=DB),
        vm("db-2", on="n2", namespace="a", labels=DB),
        vm("web", on="n2", namespace="a", labels={"tier": "web"}),
        vm("other", on="n3", namespace="b"),
        machine("idle"),
    ]


def snapshot_of(objects: Iterable[Any]) -> ClusterSnapshot:
    """A snapshot of objects; tuples are flattened."""
    flat: list[KubernetesObject] = []
    for item in objects:
        flat.extend(item) if isinstance(item, tuple) else flat.append(item)
    return from_objects("prod", flat, NOW)


def intents_of(*documents: str) -> IntentSet:
    """The intents of one file, which must be valid; `kind: ...` onwards, apiVersion is added."""
    text = "\n---\n".join(
        f"apiVersion: placement.gitbot.dev/v1alpha1\n{each}" for each in documents
    )
    intents, findings = read_intents({FILE: text.encode()}, SETTINGS, "prod")
    assert not has_errors(findings), [str(finding) for finding in findings]
    return intents


def request(name: str, spec: str, namespace: str = "a") -> str:
    """A MigrationRequest."""
    return (
        f"kind: MigrationRequest\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {spec}"
    )


def said(findings: Iterable[Finding]) -> list[str]:
    """Findings as a table has them: `severity code key.path: message; hint`."""
    return [
        f"{each.severity} {each.code.removeprefix('intents/')} {each.key_path}: {each.message}"
        + (f"; {each.hint}" if each.hint else "")
        for each in findings
    ]
