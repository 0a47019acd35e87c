"""What virt-api refuses in the block sizes of a disk, in bytes.

Source: KubeVirt 1.9.0, pkg/storage/admitters/disks.go, validateBlockSize.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, at
from gitbot.kubevirt.webhook_answers import Cause, invalid_value

_LEAST, _MOST = 512, 2 * 1024 * 1024


def block_sizes(disk: Json, bus: str, field: str) -> Iterator[Cause]:
    """Sizes of one's own are powers of two that fit each other; `field` names the disk."""
    custom, where = at(disk, "blockSize", "custom"), f"{field}.blockSize"
    if custom is None:
        return
    matching = at(disk, "blockSize", "matchVolume")
    if matching is not None and matching.get("enabled") is not False:
        text = "Block size matching can't be enabled together with a custom value"
        yield invalid_value(where, text)
        return
    where += ".custom"
    logical, physical = (int(custom.get(side) or 0) for side in ("logical", "physical"))
    granularity = custom.get("discardGranularity")
    if logical > physical:
        text = f"Logical size {logical} must be the same or less than the physical size of"
        yield invalid_value(f"{where}.logical", f"{text} {physical}")
    elif bus == "sata" and logical != _LEAST:
        text = f"Logical size {logical} must be {_LEAST} for SATA devices"
        yield invalid_value(f"{where}.logical", text)
    elif granularity is not None and logical and granularity % logical:
        text = f"Discard granularity {granularity} must be multiples of logical size {logical}"
        yield invalid_value(f"{where}.discardGranularity", text)
    else:
        yield from _size(logical, f"{where}.logical")
        yield from _size(physical, f"{where}.physical")


def _size(size: int, field: str) -> Iterator[Cause]:
    if size < _LEAST:
        text = f"is less than the supported minimum size of {_LEAST}"
    elif size > _MOST:
        text = f"is greater than the supported maximum size of {_MOST}"
    elif size & (size - 1):
        text = "is not a power of 2"
    else:
        return
    yield invalid_value(field, f"Provided size of {size} {text}")
