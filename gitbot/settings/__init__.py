"""The configuration value (`.gitbot.yaml`) and its reader. It reads no intent and asks no forge."""

from __future__ import annotations

from gitbot.settings.configuration import (
    DEFAULT_PACKS,
    DESCRIPTION,
    KIND,
    ClusterSettings,
    ForgeSettings,
    LimitSettings,
    ManifestSettings,
    Settings,
    json_schema,
    read_settings,
)
from gitbot.settings.load import LoadSettings
from gitbot.settings.owners import NodeSettings, OverrideSettings, OwnerSettings

__all__ = [
    "DEFAULT_PACKS",
    "DESCRIPTION",
    "KIND",
    "ClusterSettings",
    "ForgeSettings",
    "LimitSettings",
    "LoadSettings",
    "ManifestSettings",
    "NodeSettings",
    "OverrideSettings",
    "OwnerSettings",
    "Settings",
    "json_schema",
    "read_settings",
]
