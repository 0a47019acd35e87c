"""The story of W06 with the other word."""

from pathlib import Path

from tests.scenarios.w06_overrun_stop_new import story as stop_new


def story(folder: Path) -> str:
    return stop_new.story(folder, overrun="Finish")
