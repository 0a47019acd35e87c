"""The shape of one admission rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject
from gitbot.kubevirt.webhook_answers import Cause

# (spec of a VMI, the path at which it stands, the KubeVirt object) -> why it is refused
Rule = Callable[[Json, str, KubernetesObject], Iterator[Cause]]
