"""Older versions of KubeVirt's API: served like the present one, with a warning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.kubevirt.names import API_VERSION

_OLD = "kubevirt.io/v1alpha3"
WARNING = f"{_OLD} is now deprecated and will be removed in a future release."


def is_old(path: str) -> bool:
    return path.startswith(f"/apis/{_OLD}/")


def present_path(path: str) -> str:
    return path.replace(f"/apis/{_OLD}/", f"/apis/{API_VERSION}/", 1)


def present_body(body: Any) -> Any:
    if isinstance(body, Mapping) and body.get("apiVersion") == _OLD:
        return {**body, "apiVersion": API_VERSION}
    return body
