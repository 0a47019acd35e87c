"""What people and the cluster do in a run."""

from collections.abc import Callable
from dataclasses import replace

from gitbot.errors import GitbotError
from gitbot.execution.request_records import fold_requests
from gitbot.kubernetes.objects import labels_of
from gitbot.model.ledger.events import FINAL_STATES
from gitbot.workflows.apply import apply, cancel, hold, resume, returned
from gitbot.workflows.ask import write_dashboard
from gitbot.workflows.core.context import RunContext
from tests.torture.scenes import FILE, ONE, TWO, Said, merge, said_by
from tests.torture.schedule import Deed
from tests.torture.town import Town
from tests.torture.witness import CORDON

Work = Callable[[RunContext], object]


def state_of(run: Town) -> str:
    """How far the moves are: what deeds are counted by."""
    states = {
        str(move.state)
        for request in fold_requests(run.branch.ledger, "prod").values()
        for move in request.moves.values()
    }
    for state in ("intended", "running", "created"):
        if state in states:
            return state
    return "after" if states & FINAL_STATES else "before"


def do(run: Town, deed: Deed) -> None:
    """It counts if it changes something; a command, if it says that it did."""
    run.wire.say(f"DEED {deed.what} {deed.who}")
    state, before = state_of(run), _seen(run)
    who, met = "two" if deed.who else "one", (f"deed {deed.what}", state)
    if deed.what in COMMANDS:
        _command(run, deed.what.removeprefix("another "), COMMANDS[deed.what](run, who), met)
        return
    DOINGS[deed.what](run, who)
    if _seen(run) != before:
        run.wire.hits.add(met)


def _seen(run: Town) -> tuple[object, ...]:
    """All that deeds change."""
    world, forge = run.world, run.forge
    return (
        (world.nodes.copy(), world.instances.copy(), world.migrations.copy(), world.flag),
        world.pods.shelf.copy(),
        (set(world.fails), set(world.stuck), dict(world.lands)),
        (said(run), run.rewritten, len(run.open_pulls)),
        (set(forge.readers), forge.reviews_required),
        [(bot.told, bot.clock) for bot in run.bots],
    )


def _command(run: Town, name: str, work: Work, met: tuple[str, str]) -> None:
    """A person's command, as a process of its own."""

    def whole() -> None:
        shell = run.shell(f"{name}-{len(run.commands)}", clock=0)
        run.commands.append(name)
        try:
            if work(shell):
                run.wire.hits.add(met)
        except GitbotError as error:
            run.wire.say(f"{name}: {error}")

    run.loop.start(name, whole, at=run.loop.now)


def _request(run: Town, who: str) -> str:
    known = sorted(said(run).ends)
    return {"one": known[0], "two": known[-1]}[who] if known else (TWO if who == "two" else ONE)


def said(run: Town) -> Said:
    return said_by(run.repository.read_blob("main", FILE) or b"")


def commit(run: Town, change: Callable[[Said], Said]) -> None:
    run.repository.write_commit(
        branch="main",
        expected=run.repository.resolve("main"),
        files={FILE: change(said(run)).data()},
        message="a person's",
        time=run.world.seconds,
    )


def _cordon(run: Town, who: str) -> None:
    node = "a" if who == "one" else "c"
    if node in run.world.nodes:
        marked = CORDON in labels_of(run.world.nodes[node])
        stands = run.world.nodes[node]["spec"].get("unschedulable")
        if not (marked and stands):
            run.witness.by_person[node] = run.loop.now
        if not stands:
            run.world.cordoned_by_person.add(node)
        run.world.patch_node(node, {}, unschedulable=True)


def _uncordon(run: Town, who: str) -> None:
    node = "a" if who == "one" else "c"
    if node in run.world.nodes:
        found = run.world.nodes[node]
        if CORDON in labels_of(found) and found["spec"].get("unschedulable"):
            run.world.uncordoned[node] = run.loop.now
        run.witness.by_person.pop(node, None)
        run.world.cordoned_by_person.discard(node)
        run.world.patch_node(node, {}, unschedulable=False)


def recorded(run: Town, uid: str, *, final: bool) -> bool:
    """Whether the ledger knows a migration; or even how it ended."""
    return any(
        move.migration_uid == uid and (move.final or not final)
        for request in fold_requests(run.branch.ledger, "prod").values()
        for move in request.moves.values()
    )


def _delete(run: Town, who: str) -> None:
    del who
    for item in run.world.unfinished():
        if recorded(run, item["metadata"]["uid"], final=False):
            run.world.delete(item["metadata"]["name"], item["metadata"]["uid"])
            return


def _collect(run: Town, who: str) -> None:
    """KubeVirt keeps few finished migrations; those that are recorded may go at any time."""
    del who
    for name, item in list(run.world.migrations.items()):
        ended = item["status"]["phase"] in ("Succeeded", "Failed")
        if ended and recorded(run, item["metadata"]["uid"], final=True):
            run.world.remove(name)


def _remove_intent(run: Town, who: str) -> None:
    gone = _request(run, who)
    commit(run, lambda now: replace(now, ends={k: v for k, v in now.ends.items() if k != gone}))


def _restore_intent(run: Town, who: str) -> None:
    del who
    ends = dict.fromkeys(run.names, run.schedule.window)
    commit(run, lambda now: replace(now, ends=ends, edited=()))


def _edit(run: Town, who: str) -> None:
    name = _request(run, who)
    commit(run, lambda now: replace(now, edited=tuple(sorted({*now.edited, name}))))


def _close_window(run: Town, who: str) -> None:
    del who
    end = run.loop.now // 1000 + 5
    commit(run, lambda now: replace(now, ends=dict.fromkeys(now.ends, end)))


def _remove_node(run: Town, who: str) -> None:
    node = "a" if who == "one" else "d"
    if node in run.world.nodes:
        run.world.changed()
        del run.world.nodes[node]
        run.world.cordoned_by_person.discard(node)


def _rewrite(run: Town, who: str) -> None:
    del who
    head = run.repository.commit("main")
    if head.parents:
        run.rewritten = run.rewritten or head.id
        run.repository.branches["main"] = head.parents[0]


def _terminate(run: Town, who: str) -> None:
    for bot in run.bots[:1] if who == "one" else run.bots[-1:]:
        bot.told = True


def _step_back(run: Town, who: str) -> None:
    for bot in run.bots[:1] if who == "one" else run.bots[-1:]:
        bot.clock = max(-28, bot.clock - 20)


def _merge(run: Town, who: str) -> None:
    del who
    if run.open_pulls and run.forge.reviews_required < 2 and not run.forge.readers:
        merge(run.forge, run.open_pulls.pop(0))


def _flag(run: Town, who: str) -> None:
    del who
    run.world.flag = "by hand"


def _dismiss(run: Town, who: str) -> None:
    del who
    run.forge.readers.add("bob")


def _cancel(run: Town, who: str) -> Work:
    request = _request(run, who)
    return lambda shell: cancel(
        shell, request=request, reason="no", by="ann", on_report=write_dashboard
    )


COMMANDS: dict[str, Callable[[Town, str], Work]] = {
    "cancel": _cancel,
    "hold": lambda *_: lambda shell: hold(shell, reason="stop", by="ann", cancel_running=False),
    "resume": lambda *_: lambda shell: resume(shell, reason="go", by="ann"),
    "returned": lambda *_: lambda shell: returned(shell, node="a", by="ann"),
    "another pass": lambda *_: apply,
}
DOINGS: dict[str, Callable[[Town, str], None]] = {
    "hold by hand": _flag,
    "cordon": _cordon,
    "uncordon": _uncordon,
    "restart": lambda run, who: run.world.restart(who),
    "stop": lambda run, who: run.world.stop(who),
    "delete migration": _delete,
    "move by hand": lambda run, who: run.world.by_hand(who),
    "evacuate": lambda run, who: run.world.by_hand(who, evacuation=True),
    "edit intent": _edit,
    "remove intent": _remove_intent,
    "restore intent": _restore_intent,
    "freeze": lambda run, _: commit(run, lambda now: replace(now, frozen=True)),
    "thaw": lambda run, _: commit(run, lambda now: replace(now, frozen=False)),
    "require reviews": lambda run, _: run.forge.require_reviews(2),
    "dismiss review": _dismiss,
    "reboot": lambda run, _: run.world.reboot("a"),
    "remove node": _remove_node,
    "fail": lambda run, who: run.world.fails.add(who),
    "stick": lambda run, who: run.world.stuck.add(who),
    "land elsewhere": lambda run, who: run.world.lands.update({who: "c" if who == "two" else "d"}),
    "collect": _collect,
    "terminate": _terminate,
    "step back": _step_back,
    "merge": _merge,
    "rewrite base": _rewrite,
    "close window": _close_window,
    "break rule": lambda run, who: commit(run, lambda now: replace(now, refused=(who,))),
    "mend rule": lambda run, _: commit(run, lambda now: replace(now, refused=())),
    "break file": lambda run, who: commit(run, lambda now: replace(now, stopped=(who,))),
    "mend file": lambda run, _: commit(run, lambda now: replace(now, stopped=())),
    "crowd": lambda run, who: run.world.pods.crowd("d" if who == "two" else "c"),
    "disperse": lambda run, who: run.world.pods.disperse("d" if who == "two" else "c"),
    "observe": lambda run, _: commit(run, lambda now: replace(now, observe=True)),
}
