"""Histories of Git, forge and ledger, made from a seed: what people do between gitbot's looks."""

import random
from dataclasses import dataclass, replace

ACTS = {
    "open": 8,  # a pull request with a request
    "push": 5,  # another target, whatever was approved
    "push something else": 3,
    "force-push": 3,
    "rebase": 2,
    "show": 10,  # gitbot shows the plan of a pull request
    "approve": 12,
    "dismiss": 2,
    "lose rights": 1,
    "get rights": 1,
    "merge": 12,  # merged, squashed or rebased
    "merge past the reviews": 3,
    "retarget": 2,
    "revert": 3,  # of the last change of the base; twice is the revert of the revert
    "cherry-pick": 2,  # past any pull request
    "delete branch": 1,
    "restore branch": 2,
    "edit on the base": 2,
    "rewrite the base": 1,
    "restore the base": 3,
    "roll the ledger back": 2,
    "rewrite the ledger": 2,
    "restore the ledger": 4,
    "hold and resume": 1,
    "evacuate": 5,  # somebody else moves a VM away again
    "apply": 14,
}
"""What may happen, and how often."""

FILE_ACTS = ("break a file", "break a request", "mend the files")
NAME_ACTS = ("take a name", "take a name of the platform", "give a name back")
BESIDE = "start beside a broken file"
CLASHED = "start beside files with one identity"
"""In half of the histories: errors on the base branch, past any pull request."""

PAUSES = (0, 1, 1, 1, 30, 61, 700)  # seconds after an act
LONG_PAUSE = 90_000
BRANCHES, REQUESTS, TARGETS, PEOPLE = 3, 2, 4, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One thing that happens; the numbers say to what, of those that there are."""

    what: str
    branch: int
    request: int
    target: int
    who: int
    pause: int

    def __str__(self) -> str:
        return (
            f"{self.what} (branch {self.branch}, request {self.request}, target {self.target}, "
            f"person {self.who}), then {self.pause} s"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    seed: int
    reviews: int  # that the base branch asks for
    acts: tuple[Act, ...]

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.reviews} reviews required"]
        return "\n".join([*lines, *(f"  {act}" for act in self.acts)])


def history_of(seed: int) -> History:
    chance = random.Random(f"history {seed}")
    branch, acts = 0, list[Act]()
    for _ in range(chance.randint(3, 6)):  # mostly the usual way, with something in between
        if chance.random() < 0.6:
            branch = chance.randrange(BRANCHES)
        for what in ("open", "show", "approve", "approve", "merge", "apply"):
            for _ in range(chance.choice((0, 0, 0, 0, 1, 1, 2))):
                other = chance.choices(list(ACTS), list(ACTS.values()))[0]
                near = branch if chance.random() < 0.7 else chance.randrange(BRANCHES)
                acts.append(_act(chance, other, near))
            if chance.random() < 0.9:
                acts.append(_act(chance, what, branch))
    return _with_files(History(seed=seed, reviews=chance.choice((0, 1, 1, 2)), acts=tuple(acts)))


def _with_files(history: History) -> History:
    """With errors on the base; it draws by itself, so that a seed is otherwise the same history."""
    chance = random.Random(f"files {history.seed}")
    acts = list(history.acts)
    for _ in range(chance.choice((0, 0, 1, 3))):
        act = _act(chance, chance.choice(FILE_ACTS), chance.randrange(BRANCHES))
        acts.insert(chance.randint(0, len(acts)), act)
    chance = random.Random(f"names {history.seed}")
    for _ in range(chance.choice((0, 0, 3, 6))):
        act = _act(chance, chance.choice(NAME_ACTS), chance.randrange(BRANCHES))
        passes = [index for index, other in enumerate(acts) if other.what == "apply"]
        acts.insert(chance.choice(passes or [0]), act)  # where it matters
    return replace(history, acts=tuple(acts))


def _act(chance: random.Random, what: str, branch: int) -> Act:
    return Act(
        what=what,
        branch=branch,
        request=chance.randrange(REQUESTS),
        target=chance.randrange(TARGETS),
        who=chance.choice((0, 0, 0, 1, 1, 1, 2, 3)),
        pause=LONG_PAUSE if chance.random() < 0.01 else chance.choice(PAUSES),
    )
