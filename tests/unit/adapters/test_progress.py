"""Progress on stderr: silent when quick, one line on a terminal, a line now and then in a log."""

import io
import os
import signal
import time

import pytest

from gitbot.adapters import progress_bar
from gitbot.adapters.progress_bar import StderrProgress

PATIENCE = 20.0  # seconds; only a test that fails ever waits so long


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def until(stream: io.StringIO, text: str) -> None:
    ends = time.monotonic() + PATIENCE
    while text not in stream.getvalue():
        assert time.monotonic() < ends, stream.getvalue()
        time.sleep(0.005)


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["log", "terminal"])
def test_a_quick_command_says_nothing(stream: io.StringIO) -> None:
    shown = StderrProgress(stream)
    with shown.shown():
        shown.begins("planning")
    assert stream.getvalue() == ""


def test_a_terminal_has_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "_FIRST", 0.01)
    monkeypatch.setattr(progress_bar, "_REFRESH", 0.01)
    stream = Terminal()
    shown = StderrProgress(stream)
    with shown.shown():
        shown.begins("planning")
        for moves in (3, 312, 7):
            shown.planned(moves)
        until(stream, "planning, 312 moves so far, 0 s")
        shown.begins("replaying the plan")
        until(stream, "replaying the plan, 0 s")
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_log_has_whole_lines_without_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "_LOGGED", 0.01)
    stream = io.StringIO()
    shown = StderrProgress(stream)
    with shown.shown():
        shown.begins("reading the cluster")
        until(stream, "reading the cluster, 0 s\n")
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


def test_the_first_signal_asks_and_the_second_interrupts() -> None:
    shown = StderrProgress(io.StringIO())
    assert not shown.stopped()
    with shown.stoppable():
        os.kill(os.getpid(), signal.SIGINT)
        assert shown.stopped()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_log_does_not_say_the_same_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "_LOGGED", 0.01)
    stream = io.StringIO()
    shown = StderrProgress(stream)
    with shown.shown():
        shown.begins("reading")
        until(stream, "reading, 0 s\n")
        time.sleep(0.1)
        shown.begins("planning")
        until(stream, "planning, 0 s\n")
        assert stream.getvalue().count("reading") == 1
        monkeypatch.setattr(progress_bar, "_SAME", 0.0)
        until(stream, "planning, 0 s\nplanning, 0 s\n")


def test_whole_lines_of_others_do_not_hang_on_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "_FIRST", 0.01)
    monkeypatch.setattr(progress_bar, "_REFRESH", 0.01)
    stream = Terminal()
    shown = StderrProgress(stream)
    with shown.shown():
        shown.begins("wave 1/2")
        until(stream, "wave 1/2, 0 s")
        with shown.aside():
            assert stream.getvalue().endswith("\r\x1b[K")
            stream.write("vm moved\n")
        until(stream, "vm moved\n\r\x1b[Kwave 1/2, 0 s")
