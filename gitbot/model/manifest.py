"""Manifest: one rendered Kubernetes object, as data and as the text that is shown."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.model.objects import KubernetesObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One object to create or patch: `text` is its YAML, `namespace` "" where it has none."""

    kind: str
    name: str
    namespace: str
    object: KubernetesObject
    text: str
