import pytest

from gitbot.reports.truncate import Section, fit

HEAD = Section(head="head\n")
TAIL = Section(head="tail\n")


def details(noun: str, *, rank: int, count: int = 20) -> Section:
    items = tuple(f"{noun}-{number:02}\n" for number in range(count))
    return Section(head=f"<{noun}>\n", items=items, foot=f"</{noun}>\n", rank=rank, noun=noun)


def test_all_of_it_where_it_fits() -> None:
    text = fit([HEAD, details("a", rank=2), details("b", rank=1), TAIL], limit=1000)
    assert text.startswith("head\n<a>\na-00\n")
    assert text.endswith("b-19\n</b>\ntail\n")
    assert "left out" not in text


@pytest.mark.parametrize("limit", [260, 300, 333, 400, 500])
def test_the_least_important_is_cut_and_the_order_kept(limit: int) -> None:
    text = fit([HEAD, details("a", rank=2), details("b", rank=1), TAIL], limit=limit)
    assert len(text.encode()) <= limit
    assert text.startswith("head\n")
    assert text.endswith("tail\n")
    whole = {noun: text.count(f"{noun}-") for noun in "ab"}
    assert whole["b"] >= whole["a"]
    for noun in "ab":
        left_out = f"_{20 - whole[noun]} more {noun}"
        assert (left_out in text) is (whole[noun] < 20)
        assert text.count(f"<{noun}>") == text.count(f"</{noun}>")


def test_bytes_count_not_characters() -> None:
    wide = Section(head="", items=tuple("…" * 10 + "\n" for _ in range(50)), rank=1)
    assert len(fit([HEAD, wide, TAIL], limit=500).encode()) <= 500


def test_the_summary_is_never_cut() -> None:
    assert fit([HEAD, details("a", rank=1), TAIL], limit=10).startswith("head\n")
