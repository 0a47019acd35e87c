"""What a replay says about one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.recordings.differences import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Equal (no difference), the first difference, or in `error` why the record cannot be played.

    `notes` are sentences about an equal record: why times differ, what was arbitrary.
    """

    record: str
    difference: Difference | None = None
    error: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def equal(self) -> bool:
        """Whether the simulator did what was recorded."""
        return self.difference is None and not self.error

    def to_json(self) -> dict[str, Any]:
        """One line of the report."""
        if self.error:
            return {"record": self.record, "error": self.error}
        line: dict[str, Any] = {"record": self.record, "equal": self.equal}
        if self.difference is not None:
            line["difference"] = self.difference.to_json()
        if self.notes:
            line["notes"] = list(self.notes)
        return line
