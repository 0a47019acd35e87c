"""What virt-api refuses in a guest's ACPI tables.

Source: KubeVirt 1.9.0, vmi-create-admitter.go, validateFirmwareACPI. Its paths say `acpi`, not
`domain.firmware.acpi`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.webhook_answers import Cause, invalid_value

_TABLES = ("slicNameRef", "msdmNameRef")


def acpi(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """A table comes from a secret that is a volume of the guest."""
    tables, field = at(spec, "domain", "firmware", "acpi"), f"{path}.acpi"
    if tables is None:
        return
    if not any(tables.get(table) for table in _TABLES):
        text = "ACPI was set but no SLIC nor MSDM volume reference was set"
        yield invalid_value(field, text)
        return
    for table in _TABLES:
        name = tables.get(table)
        named = [volume for volume in spec.get("volumes") or () if volume.get("name") == name]
        if name and not named:
            yield invalid_value(f"{field}.{table}", f"{field} does not have a matching Volume.")
        elif name and named[0].get("secret") is None:
            text = f"{field} refers to Volume of unsupported type."
            yield invalid_value(f"{field}.{table}", text)
