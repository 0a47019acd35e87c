"""Texts that ship with gitbot: Jinja2 templates and policy packs, read by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Templates(Protocol):
    """Where shipped texts come from."""

    def templates(self) -> Mapping[str, str]:
        """Template name to text, sorted."""

    def policies(self) -> Mapping[str, str]:
        """Policy file path (`default/blast-radius.yaml`) to text, sorted."""
