"""Turns a plan into manifests through Jinja2 templates, given as texts."""

from gitbot.rendering.admission import AdmissionRule, admission_manifests
from gitbot.rendering.manifests import NodeLabels, manifest, render_manifests
from gitbot.rendering.migration import MigrationContext, migration_manifest

__all__ = [
    "AdmissionRule",
    "MigrationContext",
    "NodeLabels",
    "admission_manifests",
    "manifest",
    "migration_manifest",
    "render_manifests",
]
