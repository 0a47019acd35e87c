"""Being asked to end: the first signal asks, the second interrupts, a rest ends at once."""

import os
import signal
import threading

import pytest

from gitbot.adapters.signals import Stop, StoppableClock, stop_on_signals
from tests.doubles.tiny_cluster import NOW, TestClock


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_interrupts(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        assert not stop.asked()
        os.kill(os.getpid(), number)
        assert stop.asked()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_another_thread_takes_no_signals() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def run() -> None:
        with stop_on_signals() as stop:
            seen.extend((stop.asked(), signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [False, before]


def test_a_rest_ends_when_somebody_asks_and_beats_meanwhile() -> None:
    inner, stop = TestClock(), Stop()
    beats: list[int] = []
    clock = StoppableClock(inner, stop, lambda: beats.append(inner.present))
    inner.listeners.append(lambda: stop.ask() if inner.present == NOW + 7 else None)
    clock.sleep(300)
    assert clock.now() == NOW + 7
    assert len(beats) == 7
    clock.sleep(300)
    assert clock.now() == NOW + 7


@pytest.mark.parametrize("seconds", [0, -1, 1, 30])
def test_a_rest_lasts_as_long_as_it_was_asked_for(seconds: int) -> None:
    inner = TestClock()
    StoppableClock(inner, Stop()).sleep(seconds)
    assert inner.present == NOW + max(seconds, 0)
