"""The configuration value (`.gitbot.yaml`) and its reader. It reads no intent and asks no forge."""

from __future__ import annotations

from gitbot.settings.cluster_files import Beside, among, cluster_schema, not_at_hand
from gitbot.settings.clusters import ClusterSettings
from gitbot.settings.configuration import (
    DEFAULT_PACKS,
    ManifestSettings,
    Settings,
    json_schema,
    read_settings,
)
from gitbot.settings.forge import ForgeSettings
from gitbot.settings.forge_types import (
    is_gitea_repository,
    is_github_repository,
    is_gitlab_repository,
)
from gitbot.settings.health_gates import HealthGateSettings
from gitbot.settings.load_sources import LoadSettings
from gitbot.settings.notices import NoticeSettings
from gitbot.settings.owners import NodeSettings, OwnerSettings

__all__ = [
    "DEFAULT_PACKS",
    "Beside",
    "ClusterSettings",
    "ForgeSettings",
    "HealthGateSettings",
    "LoadSettings",
    "ManifestSettings",
    "NodeSettings",
    "NoticeSettings",
    "OwnerSettings",
    "Settings",
    "among",
    "cluster_schema",
    "is_gitea_repository",
    "is_github_repository",
    "is_gitlab_repository",
    "json_schema",
    "not_at_hand",
    "read_settings",
]
