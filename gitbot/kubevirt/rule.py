"""The shape of one admission rule, and the causes that most of them give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitbot.kubevirt.verdicts import Cause
from gitbot.model.objects import Json, KubernetesObject

# (spec of a VMI, the path at which it stands, the KubeVirt object) -> why it is refused
Rule = Callable[[Json, str, KubernetesObject], Iterator[Cause]]


def invalid_value(field: str, message: str) -> Cause:
    """A field whose value cannot be."""
    return Cause(reason="FieldValueInvalid", message=message, field=field)


def required_value(field: str, message: str) -> Cause:
    """A field that has to be there."""
    return Cause(reason="FieldValueRequired", message=message, field=field)
