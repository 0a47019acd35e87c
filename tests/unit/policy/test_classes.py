"""Which subjects are alike for what an expression reads."""

import pytest

from gitbot.policy.batch.equivalence import Classes
from gitbot.policy.batch.read_set import Reads
from gitbot.policy.policy import PolicySubject

READS: dict[str, Reads] = {
    "tier": {"vm": {"labels": {"tier": None}}},
    "labels": {"vm": {"labels": None}},
    "tier and node": {"vm": {"labels": {"tier": None}}, "node": {"zone": None}},
    "plan": {"plan": {"moves": None}},
}


def subject(labels: object, zone: str = "a") -> PolicySubject:
    vm = {"name": "db"} if labels is None else {"name": "db", "labels": labels}
    return PolicySubject(name="", intent=None, data={"vm": vm, "node": {"zone": zone}, "plan": {}})


def grouped(reads: Reads, *subjects: PolicySubject) -> list[int]:
    keys = Classes(subjects).keys(reads)
    return [keys.index(key) for key in keys]


@pytest.mark.parametrize(
    ("reads", "one", "other", "alike"),
    [
        ("tier", subject({"tier": "db"}), subject({"tier": "db", "app": "x"}), True),
        ("tier", subject({"tier": "db"}), subject({"tier": "web"}), False),
        ("tier", subject({"tier": 1}), subject({"tier": 1.0}), False),
        ("tier", subject({"tier": 1}), subject({"tier": True}), False),
        ("tier", subject({"tier": 1}), subject({"tier": "1"}), False),
        ("tier", subject({}), subject(None), False),
        ("tier", subject({}), subject({"app": "x"}), True),
        ("tier", subject({"tier": "db"}), subject("db"), False),
        ("tier", subject({"tier": 0}), subject({}), False),
        ("labels", subject({"tier": "db"}), subject({"tier": "db", "app": "x"}), False),
        ("tier and node", subject({"tier": "db"}), subject({"tier": "db"}, "b"), False),
        ("tier and node", subject({"tier": "db"}, "b"), subject({"tier": "db"}, "b"), True),
        ("plan", subject({"tier": "db"}), subject({"tier": "web"}), True),
    ],
)
def test_alike(reads: str, one: PolicySubject, other: PolicySubject, alike: bool) -> None:
    assert grouped(READS[reads], one, other) == ([0, 0] if alike else [0, 1])


def test_at_least_never_says_more_classes_than_there_are() -> None:
    subjects = [subject({"tier": str(n % 5)}, zone=str(n % 3)) for n in range(30)]
    classes = Classes(subjects)
    for name, most in (("tier", 5), ("tier and node", 15), ("plan", 1)):
        assert classes.at_least(READS[name]) <= most == len(set(classes.keys(READS[name])))
