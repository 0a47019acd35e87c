"""The forms of text that fields hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gitbot.documents import formats
from gitbot.documents.formats import Refusal

READ: list[tuple[Callable[[str], Any], str, Any]] = [
    (formats.duration, "PT4H", 14_400),
    (formats.duration, "P1W2DT3H4M5S", 788_645),
    (formats.duration, "P3660D", 316_224_000),
    (formats.duration_or_zero, "PT0S", 0),
    (formats.instant, "1970-01-01T00:00Z", 0),
    (formats.instant, "2026-12-06T06:00+01:00", 1_796_533_200),
    (formats.instant, "2026-12-06T05:00:00Z", 1_796_533_200),
    (formats.local_time, "2026-12-06T22:00", "2026-12-06T22:00:00"),
    (formats.local_date, "2028-02-29", "2028-02-29"),
    (formats.zone, "Europe/Madrid", "Europe/Madrid"),
    (formats.zone, "UTC", "UTC"),
    (formats.amount, "64Mi", 67_108_864),
    (formats.amount, "1.5Ki", 1536),
    (formats.dns_label, "a-1", "a-1"),
    (formats.dns_subdomain, "a.b-c.1", "a.b-c.1"),
    (formats.label_key, "example.com/a_B.c", "example.com/a_B.c"),
    (formats.label_value, "", ""),
    (formats.branch_name, "release/1.2", "release/1.2"),
    (formats.repository_path, "clusters/prod/vms", "clusters/prod/vms"),
    (formats.concern, "drain-scu-firmware-20261206T210000Z", "drain-scu-firmware-20261206T210000Z"),
]

REFUSED: list[tuple[Callable[[str], Any], str, str]] = [
    (formats.duration, "PT0S", "write PT1H for one hour"),
    (formats.duration, "P", "write PT4H for four hours, P3D for three days"),
    (formats.duration, "PT", "write PT4H for four hours, P3D for three days"),
    (formats.duration, "P1DT", "write PT4H for four hours, P3D for three days"),
    (formats.duration, "P1Y", "months and years have no fixed length; write days, as P30D"),
    (formats.duration, "-PT1H", "durations are positive; write PT1H for one hour"),
    (formats.duration, "4h", "did you mean PT4H?"),
    (formats.duration, "1d12h", "did you mean P1DT12H?"),
    (formats.duration, "PT1.5H", "write PT4H for four hours, P3D for three days"),
    (formats.duration, "P3661D", "shorten it"),
    (formats.instant, "2026-02-29T00:00Z", "that month has 28 days"),
    (formats.instant, "2026-04-31T00:00Z", "that month has 30 days"),
    (formats.instant, "2026-00-01T00:00Z", "there is no month 0"),
    (
        formats.instant,
        "2026-12-06T24:00Z",
        "hours go from 00 to 23, minutes and seconds to 59, offsets to 23:59",
    ),
    (formats.instant, "1969-12-31T23:59Z", "correct the year"),
    (formats.instant, "9999-12-31T23:59-12:00", "correct the year"),
    (formats.instant, "0000-01-01T00:00Z", "there is no year 0"),
    (formats.instant, "tomorrow", 'write it as "2026-12-06T22:00+01:00"'),
    (formats.instant, "٢٠٢٦-12-06T22:00Z", 'write it as "2026-12-06T22:00+01:00"'),
    (formats.local_time, "2026-12-06", 'write it as "2026-12-06T22:00"'),
    (formats.local_date, "2026-12-6", 'write it as "2027-01-03"'),
    (
        formats.local_date,
        "9999-12-32",
        "hours go from 00 to 23, minutes and seconds to 59, offsets to 23:59",
    ),
    (formats.zone, "europe/madrid", "did you mean Europe/Madrid?"),
    (formats.zone, "Factory", "write a place, as Europe/Madrid, or UTC"),
    (formats.zone, "../UTC", "write a place, as Europe/Madrid, or UTC"),
    (formats.amount, "0", "write 64Mi"),
    (formats.amount, "1500m", "write 64Mi"),
    (formats.amount, "-1", "write 64Mi"),
    (formats.dns_label, "a.b", "rename it"),
    (formats.dns_label, "A_b", 'did you mean "a-b"?'),
    (formats.dns_label, "a" * 64, "shorten it"),
    (formats.dns_subdomain, "a..b", "rename it"),
    (formats.dns_subdomain, "", "rename it"),
    (formats.dns_subdomain, "a\n", "rename it"),
    (formats.ref_name, "a.lock", "rename it"),
    (formats.label_key, "a/b/c", "see the labels of the VM"),
    (formats.label_key, "x" * 64, "see the labels of the VM"),
    (formats.label_value, "-a", "see the labels of the VM"),
    (formats.filled_label_value, "", "see the labels of the nodes"),
    (formats.branch_name, "-x", 'write it as "main", without refs/'),
    (formats.branch_name, "a@{1}", 'write it as "main", without refs/'),
    (formats.repository_path, "../x", 'write it as "vms", without . or .. or a root'),
    (formats.repository_path, "x/.git/y", 'write it as "vms", without . or .. or a root'),
    (formats.concern, "a b", "only gitbot writes proposals"),
    (formats.digest_text, "sha256:AB", "only gitbot writes this field"),
]


@pytest.mark.parametrize(("read", "text", "value"), READ)
def test_read(read: Callable[[str], Any], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(("read", "text", "hint"), REFUSED)
def test_refused(read: Callable[[str], Any], text: str, hint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read(text)
    assert refusal.value.hint == hint


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "PT0S"), (86_400, "P1D"), (90_061, "P1DT1H1M1S"), (1_800, "PT30M"), (259_200, "P3D")],
)
def test_durations_are_written_as_they_are_read(seconds: int, text: str) -> None:
    assert formats.duration_text(seconds) == text
    assert formats.duration_or_zero(text) == seconds
