"""The fixture of tests that play on a GitHub of their own."""

from tests.doubles.github.scene import scene

__all__ = ["scene"]
