"""The table of kinds, empty here: `gitbot.intents.registry` fills it.

The spec of a proposal names the other kinds. It cannot import the registry, which imports it.
"""

from typing import Any

TABLE: dict[str, Any] = {}
