"""A schedule: everything that decides a run. It is made from a seed, and can be shrunk."""

import random
from dataclasses import dataclass, replace

WRITES = (
    "refused 400", "refused 403", "refused 404", "refused 409", "refused 410", "refused 422",
    "busy", "unsent", "lost", "late", "answer lost", "error 500", "done 500", "slow",
    "crash before", "crash sent", "crash done", "pause before", "pause after",
)  # fmt: skip
NODE_WRITES = tuple(how for how in WRITES if how not in ("refused 400", "refused 422"))
READS = ("error", "slow", "crash before", "crash done", "pause before", "pause after")
LISTS = (*READS, "old", "empty", "part")
PUSHES = ("lost race", "error", "answer lost", *READS[1:])
FAULTS = {
    "create": (*WRITES, "stored otherwise"),
    "delete": WRITES,
    "cordon": NODE_WRITES,
    "uncordon": NODE_WRITES,
    "label": NODE_WRITES,
    "anchor": NODE_WRITES,
    "snapshot": LISTS,
    "migrations": LISTS,
    "migration": READS,
    "instance": READS,
    "flag": READS,
    "server time": READS,
    "read anchor": READS,
    "ledger": READS,
    "push": PUSHES,
    "base": READS,
    "revision": READS,
    "pulls": READS,
    "pull": READS,
    "report": READS,
}  # fmt: skip
"""What can go wrong at each kind of call. The words are columns of the table of coverage."""

OFTEN = {"snapshot": 12, "ledger": 12, "base": 8, "flag": 6, "server time": 1, "migrations": 8,
         "instance": 4, "push": 6, "create": 4, "migration": 4, "pulls": 4, "pull": 4,
         "revision": 4, "report": 8}  # fmt: skip

MOMENTS = ("push", "pushed", "create", "sent", "stored", "answered", "cordon", "cordoned",
           "uncordon", "delete", "deleted", "snapshot", "instance", "ledger", "finished",
           "migrations", "label")  # fmt: skip
DEEDS = (
    "cancel", "hold", "hold by hand", "resume", "returned", "cordon", "uncordon", "restart",
    "stop", "delete migration", "move by hand", "evacuate", "edit intent", "remove intent",
    "restore intent", "freeze", "thaw", "require reviews", "dismiss review", "reboot",
    "remove node", "fail", "stick", "land elsewhere", "collect", "terminate", "step back",
    "another pass", "merge", "rewrite base", "close window", "observe",
    "break rule", "mend rule",
)  # fmt: skip
POD_DEEDS = ("crowd", "disperse")
FILE_DEEDS = ("break file", "mend file")
FILES = 0.05  # how many runs aim at one of them
STRANGERS = 0.05  # how many runs have one
LINGERS = (0, 0, 0, 8, 40, 150, 400)  # seconds
SCENES = ("one", "waves", "two", "drain", "drain and one", "again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens at the nth call of a kind, over all processes."""

    call: str
    number: int
    how: str
    seconds: int = 0

    def __str__(self) -> str:
        more = f" ({self.seconds} s)" if self.seconds else ""
        return f"{self.call} {self.number}: {self.how}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What a person or the cluster does: after some seconds, or at the nth moment of a kind."""

    what: str
    who: str = ""
    at: int = 0
    moment: str = ""
    number: int = 0

    def __str__(self) -> str:
        when = f"at {self.moment} {self.number}" if self.moment else f"after {self.at} s"
        return f"{self.what}{' ' + self.who if self.who else ''} {when}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """One executor: its clock's error, when it begins, how long a pass may take, its rest."""

    clock: int = 0
    begins: int = 0
    runtime: int = 3600
    rest: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """Between two times, in seconds, the context leads elsewhere, or the UID cannot be read.

    `uid` is that of the other cluster, whose VMs have the same names; "" if it is not readable.
    """

    begins: int
    ends: int
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    seed: int
    scene: str
    bots: tuple[Bot, ...]
    faults: tuple[Fault, ...] = ()
    deeds: tuple[Deed, ...] = ()
    attempts: int = 1
    takes: int = 10  # seconds of a migration
    done: str = "Uncordoned"
    anchored: bool = False
    finish: bool = False
    slots: int = 3
    window: int = 1200  # seconds in which moves may start
    uneven: bool = True  # calls take different times
    reports: bool = False  # on the forge: they cost more than all the rest of a pass
    lingers: int = 0  # seconds that launcher pods take to go; 0: the cluster shows no pods
    followed: bool = False  # the cluster is listed once and then watched
    strangers: tuple[Stranger, ...] = ()

    def __str__(self) -> str:
        bots = "; ".join(
            f"clock {bot.clock:+d} begins {bot.begins} passes {bot.runtime} rests {bot.rest}"
            for bot in self.bots
        )
        head = (
            f"seed {self.seed}: {self.scene}, attempts {self.attempts}, takes {self.takes} s, "
            f"done {self.done}, slots {self.slots}, window {self.window} s"
            f"{', anchored' if self.anchored else ''}{', finish' if self.finish else ''}"
            f"{', followed' if self.followed else ''}"
            f"{'' if self.uneven else ', even'}{f', lingers {self.lingers} s' * bool(self.lingers)}"
        )
        lines = [head, f"  bots: {bots}"]
        lines += [f"  {item}" for item in (*self.faults, *self.deeds, *self.strangers)]
        return "\n".join(lines)


FIRST_STUCK = Deed(what="stick", at=0)
STATES = ("before", "intended", "created", "running", "after")
AIMS = (
    *((call, how) for call, hows in FAULTS.items() for how in hows),
    *((f"deed {what}", state) for what in DEEDS for state in STATES),
)
"""What runs are spread over: each seed aims at one cell, and adds what chance brings."""
CELLS = (
    *AIMS,
    *((f"deed {what}", state) for what in (*POD_DEEDS, *FILE_DEEDS) for state in STATES),
)
NEVER = frozenset(
    {
        ("deed returned", "before"),  # a node leaves service with its first move
        ("deed delete migration", "before"),
        ("deed delete migration", "after"),
        ("deed collect", "before"),
    }
)
"""Cells that no run can meet: there is nothing yet, or no more, that could be undone."""
UNDOES = {
    "resume": "hold by hand",
    "uncordon": "cordon",
    "restore intent": "edit intent",
    "thaw": "freeze",
    "mend rule": "break rule",
    "mend file": "break file",
}


def schedule_of(seed: int) -> Schedule:
    chance = random.Random(seed)
    schedule = Schedule(
        seed=seed,
        scene=chance.choice(SCENES),
        bots=tuple(_bot(chance) for _ in range(chance.choice((1, 2, 2, 2, 3)))),
        faults=tuple(_fault(chance) for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))),
        deeds=tuple(_deed(chance) for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))),
        attempts=chance.choice((1, 1, 2)),
        takes=chance.choice((3, 10, 25)),
        done=chance.choice(("Uncordoned", "Rebooted", "Command")),
        anchored=chance.random() < 0.3,
        finish=chance.random() < 0.2,
        slots=chance.choice((1, 2, 3)),
        window=chance.choice((150, 600, 1200)),
        reports=chance.random() < 0.1,
    )
    aimed = _aimed(chance, schedule, *AIMS[seed % len(AIMS)])
    return _with_files(_with_strangers(_with_pods(aimed)))


def _with_files(schedule: Schedule) -> Schedule:
    """The schedule with a file that stops the folder of one VM; it draws by itself, too."""
    chance = random.Random(f"files {schedule.seed}")
    rare = any(deed.what in {*LATER, "uncordon"} for deed in schedule.deeds)
    if chance.random() >= FILES or rare or any(item.call == "delete" for item in schedule.faults):
        return schedule
    return _aimed_at_state(chance, schedule, chance.choice(FILE_DEEDS), chance.choice(STATES))


def _with_strangers(schedule: Schedule) -> Schedule:
    """The schedule on a cluster that is another one for a while; it draws by itself, too."""
    chance = random.Random(f"strangers {schedule.seed}")
    if chance.random() >= STRANGERS:
        return schedule
    begins = chance.randint(0, 300)
    ends = begins + chance.choice((30, 120, 400))
    stranger = Stranger(begins=begins, ends=ends, uid=chance.choice(("", "uid-of-west")))
    return replace(schedule, strangers=(stranger,))


def _with_pods(schedule: Schedule) -> Schedule:
    """The schedule with launcher pods that linger, and pods of others that come and go.

    It draws by itself, so that a seed is otherwise the same schedule as without.
    """
    chance = random.Random(f"pods {schedule.seed}")
    lingers = chance.choice(LINGERS)
    if not lingers or any(deed.what in LATER for deed in schedule.deeds):  # rare enough without
        return schedule
    crowds: tuple[Deed, ...] = ()
    if chance.random() < 0.5:
        crowds = tuple(
            replace(_deed(chance), what=what) for what in ("crowd", *chance.choices(POD_DEEDS, k=2))
        )
    return replace(schedule, lingers=lingers, deeds=(*schedule.deeds, *crowds))


def _aimed(chance: random.Random, schedule: Schedule, what: str, how: str) -> Schedule:
    """The schedule, so that it probably meets a cell."""
    if what.startswith("deed "):
        return _aimed_at_state(chance, schedule, what.removeprefix("deed "), how)
    first = chance.choice((1, 1, 2)) if what not in ("uncordon", "delete") else 1
    fault = Fault(call=what, number=first, how=how, seconds=_seconds(chance, how))
    deeds, faults = schedule.deeds, schedule.faults
    if what == "migration":  # read when the answer of a creation was lost
        faults = (Fault(call="create", number=1, how="answer lost"), *faults)
    elif what == "create" and how in ("late", "crash sent"):  # as late as a claim allows
        fault = replace(fault, number=1, seconds=chance.choice((58, 20)))
        pause = Fault(call="instance", number=1, how="pause before", seconds=50)
        faults = (*faults, *((pause,) if chance.random() < 0.7 else ()))
    elif what == "delete":
        deeds = (Deed(what="cancel", moment="answered", number=1), *deeds)
    elif what == "uncordon":
        deeds = (Deed(what="cancel", moment="cordoned", number=1), *deeds)
    return replace(
        schedule,
        faults=(fault, *faults),
        deeds=deeds,
        anchored=schedule.anchored or "anchor" in what,
        reports=schedule.reports or what == "report",
        scene="drain" if what in ("cordon", "uncordon", "label") else schedule.scene,
        takes=25 if what == "delete" else schedule.takes,
    )


def _aimed_at_state(chance: random.Random, schedule: Schedule, what: str, state: str) -> Schedule:
    who = chance.choice(("", "2"))
    deed = Deed(what=what, who=who, at=chance.randint(60, 250))
    more: tuple[Deed, ...] = ()
    if state == "before":
        deed = replace(deed, at=0)
    elif state == "intended":
        moment = chance.choice(("pushed", "create", "sent", "stored", "answered", "instance"))
        deed = Deed(what=what, who=who, moment=moment, number=1)
        if what == "delete migration":  # of one that is recorded, while another is announced
            deed, more = replace(deed, number=2), (FIRST_STUCK, Deed(what="merge", at=20))
    elif state == "created":
        more = (FIRST_STUCK, replace(FIRST_STUCK, who="2"))
        deed = replace(deed, at=chance.randint(30, 90))
    elif state == "running":
        deed = replace(deed, at=chance.randint(15, 45))
    if what in UNDOES:
        more = (*more, replace(deed, what=UNDOES[what], at=max(0, deed.at - chance.choice((0, 9)))))
    schedule = replace(
        schedule,
        deeds=(*more, deed, *schedule.deeds),
        takes=25 if state == "running" else schedule.takes,
        scene=chance.choice(tuple(SET[what])) if what in SET else schedule.scene,
    )
    return _after_the_first(chance, schedule, deed, state) if what in LATER else schedule


SET = {"merge": ("two", "again"), "returned": ("drain and one",), "collect": ("waves",),
       "delete migration": ("two",)}  # fmt: skip
"""Scenes in which a deed finds what it needs."""
LATER = frozenset({"returned", "collect"})  # one move is over, and another one at this state


def _after_the_first(chance: random.Random, schedule: Schedule, deed: Deed, state: str) -> Schedule:
    if state not in ("intended", "created", "running"):
        return schedule
    later = replace(deed, at=chance.randint(45, 75), moment="", number=0)
    if state == "intended":
        later = replace(later, at=0, moment="create", number=2)
    left = tuple(item for item in schedule.deeds if item not in (deed, FIRST_STUCK))
    return replace(schedule, deeds=(later, *left), slots=1, attempts=1)


def _seconds(chance: random.Random, how: str) -> int:
    choice = (5, 50, 70, 100, 200) if how.startswith("pause") else (1, 20, 39, 58)
    return chance.choice(choice)


def _bot(chance: random.Random) -> Bot:
    return Bot(
        clock=chance.choice((0, 0, 0, -14, 14, -28, 28, 45)),  # 45: it must stop itself
        begins=chance.choice((0, 0, 1, 7, 30)),
        runtime=chance.choice((20, 120, 3600)),
        rest=chance.choice((5, 30, 90)),
    )


def _fault(chance: random.Random) -> Fault:
    call = chance.choice(tuple(FAULTS))
    how = chance.choice(FAULTS[call])
    number = chance.randint(1, OFTEN.get(call, 2))
    return Fault(call=call, number=number, how=how, seconds=_seconds(chance, how))


def _deed(chance: random.Random) -> Deed:
    what = chance.choice(DEEDS)
    who = chance.choice(("", "2"))
    if chance.random() < 0.3:
        return Deed(what=what, who=who, at=chance.randint(0, 200))
    moment = chance.choice(MOMENTS)
    most = OFTEN.get(moment, 3)
    return Deed(what=what, who=who, moment=moment, number=chance.randint(1, most))
