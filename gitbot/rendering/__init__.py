"""Plan to manifests through Jinja2 templates given as texts."""

from gitbot.rendering.migration import MigrationContext, migration_manifest

__all__ = ["MigrationContext", "migration_manifest"]
