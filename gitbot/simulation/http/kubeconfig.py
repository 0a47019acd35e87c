"""A kubeconfig for the HTTP face."""

from __future__ import annotations

import json
from pathlib import Path


def kubeconfig_text(*, server: str, context: str) -> str:
    """A kubeconfig (JSON, which is YAML) with one context; the face asks for no credentials."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": {"server": server}}],
        "users": [{"name": context, "user": {}}],
        "contexts": [
            {"name": context, "context": {"cluster": context, "user": context}},
        ],
        "current-context": context,
    }
    return json.dumps(config, indent=2) + "\n"


def write_kubeconfig(path: Path, *, server: str, context: str) -> Path:
    """Write it, readable by the owner alone, and return the path."""
    path.write_text(kubeconfig_text(server=server, context=context), encoding="utf-8")
    path.chmod(0o600)
    return path
