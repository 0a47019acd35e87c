"""The table of docs/reference/notices.md says of each event what the program does."""

import re
from pathlib import Path
from typing import get_args

from gitbot.model.text.names import NoticeEvent
from gitbot.settings.notices import OTHERS, PERSON
from gitbot.workflows.watch.notice_texts import Notice

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "notices.md"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([\w ]+) \|", re.MULTILINE)


def test_the_table_names_each_event_with_its_severity_and_default() -> None:
    told = dict.fromkeys(PERSON, "at once") | dict.fromkeys(OTHERS, "daily")
    wanted = {
        (event, Notice(id="", event=event, said="", time=0).severity, told.get(event, "no"))
        for event in get_args(NoticeEvent)
    }
    assert set(ROW.findall(PAGE.read_text("utf-8"))) == wanted
