"""What would move: each plan before, after, and after each of its waves, by a slider of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gitbot.model.grouping import grouped
from gitbot.model.text.wording import counted
from gitbot.published import OpenPlan, json_text
from gitbot.reports.picture import MAX_ARROWS, MAX_NODES
from gitbot.reports.site.page_model import (
    PlanCard,
    PlanSlider,
    SiteDocuments,
    SitePage,
    Table,
    Tone,
    rows,
    web_link,
)

STEPS = 12  # positions after the first; the style sheet knows as many
_HEAD = ("wave", "VM", "from", "to", "about", "why")
_MOST_ROWS = 600  # of all tables; the document has all moves
_MOST_DRAWN = 5 * MAX_ARROWS  # moves of all pictures


def plans_page(documents: SiteDocuments) -> SitePage:
    plans = documents.plans.plans
    moves = counted(sum(len(plan.moves) for plan in plans), "move")
    drawn = _drawn(plans)
    left_out = counted(len(plans) - len(drawn), "plan")
    return SitePage(
        path="plans.html",
        title="plans",
        headline=f"{counted(len(plans), 'plan')} with {moves}" if plans else "No plan waits",
        tone=Tone.GOOD,
        note="" if len(drawn) == len(plans) else f"{left_out} too large to draw: see the tables.",
        sliders=tuple(_slider(plan) for plan in drawn),
        tables=tuple(_tables(plans)),
        document=json_text(documents.plans),
    )


def _drawn(plans: Sequence[OpenPlan]) -> list[OpenPlan]:
    found, room = [], _MOST_DRAWN
    for plan in plans:
        moves = len(plan.moves)
        if len(plan.nodes) <= MAX_NODES and moves <= min(room, MAX_ARROWS):
            found.append(plan)
            room -= moves
    return found


def _name(plan: OpenPlan) -> str:
    if plan.pull_request:
        return f"#{plan.pull_request} {plan.title}: waits for a merge"
    return f"{plan.title}: approved"


def _tables(plans: Sequence[OpenPlan]) -> Iterator[Table]:
    room = _MOST_ROWS
    for plan in plans:
        shown, room = plan.moves[:room], max(0, room - len(plan.moves))
        yield Table(
            title=f"Moves of {_name(plan)}",
            head=_HEAD,
            rows=rows(
                (str(it.wave), it.vm, it.source, it.to, f"{it.seconds} s", it.why) for it in shown
            ),
            open=False,
        )


def _slider(plan: OpenPlan) -> PlanSlider:
    waves = sorted({move.wave for move in plan.moves})
    count = min(STEPS, len(waves))
    step_of = {wave: index * count // len(waves) for index, wave in enumerate(waves)}
    leaving = grouped((move.source, (move.vm, step_of[move.wave])) for move in plan.moves)
    arriving = grouped((move.to, (move.vm, step_of[move.wave])) for move in plan.moves)
    return PlanSlider(
        words=_name(plan),
        link=web_link(plan.url),
        steps=(("before", "Before the plan"), *_steps(plan, step_of)),
        cards=tuple(
            PlanCard(
                node=f"{item.node}, {item.zone}" if item.zone else item.node,
                stay=f"{counted(item.stay, 'VM')} more" if item.stay else "no other VM",
                leaving=leaving.get(item.node, ()),
                arriving=arriving.get(item.node, ()),
            )
            for item in plan.nodes
        ),
    )


def _steps(plan: OpenPlan, step_of: Mapping[int, int]) -> Iterator[tuple[str, str]]:
    for waves in grouped((step, wave) for wave, step in step_of.items()).values():
        first, last = waves[0], waves[-1]
        label = f"wave {last}" if first == last else f"waves {first} to {last}"
        gone = sum(move.wave <= last for move in plan.moves)
        yield label, f"After {label}: {gone} of {counted(len(plan.moves), 'VM')} moved"
