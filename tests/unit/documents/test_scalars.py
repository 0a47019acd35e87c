"""Plain scalars: what is read as what, and what is refused."""

import pytest

from gitbot.documents.scalars import RefusedScalar, resolve

READ = [
    ("", None),
    ("~", None),
    ("null", None),
    ("Null", None),
    ("nULL", "nULL"),
    ("true", True),
    ("FALSE", False),
    ("tRue", "tRue"),
    ("y", "y"),
    ("n", "n"),
    ("0", 0),
    ("-1", -1),
    ("42", 42),
    ("999999999999999999", 999999999999999999),
    ("1.5", 1.5),
    ("1e3", 1000.0),
    ("-.5", -0.5),
    ("abc", "abc"),
    ("1a", "1a"),
    ("1.2.3", "1.2.3"),
    ("10.0.0.1", "10.0.0.1"),
    ("64Mi", "64Mi"),
    ("PT4H", "PT4H"),
    ("db-1", "db-1"),
    ("-x", "-x"),
    ("a:b", "a:b"),
    ("2026", 2026),
    ("2026-12", "2026-12"),
    ("FREQ=WEEKLY", "FREQ=WEEKLY"),
]

REFUSED = [
    ("yes", "documents/boolean-word", 'quote it: "yes", or write true'),
    ("Off", "documents/boolean-word", 'quote it: "Off", or write false'),
    ("0o17", "documents/integer", 'write 15, or quote it if text is meant: "0o17"'),
    ("0x1F", "documents/integer", 'write 31, or quote it if text is meant: "0x1F"'),
    ("0b11", "documents/integer", 'write 3, or quote it if text is meant: "0b11"'),
    ("010", "documents/integer", 'write 10, or quote it if text is meant: "010"'),
    ("-007", "documents/integer", 'write -7, or quote it if text is meant: "-007"'),
    ("1_000", "documents/integer", 'write 1000, or quote it if text is meant: "1_000"'),
    ("+5", "documents/integer", 'write 5, or quote it if text is meant: "+5"'),
    ("9" * 19, "documents/integer", "if text is meant, quote it"),
    ("22:00", "documents/unquoted-time", 'quote it: "22:00"'),
    ("25:61:99", "documents/unquoted-time", 'quote it: "25:61:99"'),
    ("1:1:1:1", "documents/unquoted-time", 'quote it: "1:1:1:1"'),
    ("2026-12-06", "documents/unquoted-time", 'quote it: "2026-12-06"'),
    ("2026-12-06 22:00:00", "documents/unquoted-time", 'quote it: "2026-12-06 22:00:00"'),
    (".inf", "documents/number", 'if text is meant, quote it: ".inf"'),
    ("-.INF", "documents/number", 'if text is meant, quote it: "-.INF"'),
    (".NaN", "documents/number", 'if text is meant, quote it: ".NaN"'),
    ("1_0.5", "documents/number", 'if text is meant, quote it: "1_0.5"'),
    ("1e999", "documents/number", "if text is meant, quote it"),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_read(text: str, value: object) -> None:
    found = resolve(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(("text", "code", "hint"), REFUSED)
def test_refused(text: str, code: str, hint: str) -> None:
    found = resolve(text)
    assert isinstance(found, RefusedScalar)
    assert (found.code, found.hint) == (code, hint)
