"""libyaml's parser. PyYAML's wheels contain it; a PyYAML built from source may not."""

from __future__ import annotations

from gitbot.errors import UsageError

try:
    from yaml._yaml import CParser
except ImportError as error:
    raise UsageError(
        "PyYAML of this Python was built without libyaml",
        hint="install a wheel of it: pip install --force-reinstall --only-binary pyyaml pyyaml",
    ) from error

__all__ = ["CParser"]
