"""Random label selectors, node affinity, pod affinity and spread constraints."""

from typing import Any

from tests.scheduling.dice import Dice
from tests.scheduling.nodes import BETA_ZONE, HOSTNAME, RACKS, REGION, ZONE, ZONES

Object = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NAMESPACES = ("bank", "lab", "shop")
APPS = ("web", "db", "cache")
LABELS = {"app": APPS, "tier": ("gold", "silver", ""), "team": ("x", "y")}
TOPOLOGY = (HOSTNAME, ZONE, ZONE, REGION, "rack", "absent-key", BETA_ZONE)


def labels(dice: Dice) -> dict[str, str]:
    """Labels of a pod."""
    chosen = dice.some(tuple(LABELS), 1, 3) if dice.chance(93) else []
    return {key: dice.pick(LABELS[key]) for key in sorted(chosen)}


def label_selector(dice: Dice) -> Object | None:
    """A label selector: absent, empty, pairs, expressions."""
    if dice.chance(5):
        return None
    if dice.chance(8):
        return {}
    selector: Object = {}
    if dice.chance(70):
        key = dice.pick(tuple(LABELS))
        selector["matchLabels"] = {key: dice.pick(LABELS[key])}
    if dice.chance(35) or not selector:
        selector["matchExpressions"] = dice.several(lambda: _expression(dice), 1, 2)
    return selector


def _expression(dice: Dice) -> Object:
    key = dice.pick((*LABELS, ZONE))
    operator = dice.pick(("In", "NotIn", "Exists", "DoesNotExist", "In"))
    values = LABELS.get(key, ZONES)
    if operator in ("In", "NotIn"):
        return {"key": key, "operator": operator, "values": dice.some(values, 1, 2)}
    return {"key": key, "operator": operator}


def pod_term(dice: Dice) -> Object:
    """A pod affinity term."""
    term: Object = {"topologyKey": dice.pick(TOPOLOGY[:5] if dice.chance(90) else TOPOLOGY)}
    selector = label_selector(dice)
    if selector is not None:
        term["labelSelector"] = selector
    if dice.chance(25):
        term["namespaces"] = dice.some((*NAMESPACES, "nowhere"), 1, 2)
    if dice.chance(25):
        term["namespaceSelector"] = _namespace_selector(dice)
    if selector and dice.chance(15):
        word = dice.pick(("matchLabelKeys", "mismatchLabelKeys"))
        named = {*selector.get("matchLabels", {})}
        named |= {item["key"] for item in selector.get("matchExpressions", ())}
        free = [key for key in LABELS if key not in named]
        if free:
            term[word] = [dice.pick(free)]
    return term


def _namespace_selector(dice: Dice) -> Object:
    if dice.chance(20):
        return {}
    operator = dice.pick(("In", "NotIn", "Exists", "DoesNotExist"))
    item: Object = {"key": dice.pick(("env", "owner")), "operator": operator}
    if operator in ("In", "NotIn"):
        item["values"] = dice.some(("prod", "test"), 1, 2)
    expressions = [item]
    if dice.chance(25):
        name = {
            "key": "kubernetes.io/metadata.name",
            "operator": "In",
            "values": [dice.pick(NAMESPACES)],
        }
        expressions.append(name)
    return {"matchExpressions": expressions}


def pod_affinity(dice: Dice, *, rate: int) -> Object:
    """podAffinity and podAntiAffinity blocks; `rate` in percent for each kind of term."""
    found: Object = {}
    for block in ("podAffinity", "podAntiAffinity"):
        parts: Object = {}
        if dice.chance(rate if block == "podAntiAffinity" else rate // 2):
            parts[REQUIRED] = dice.several(lambda: pod_term(dice), 1, 2)
        if dice.chance(rate):
            parts[PREFERRED] = [
                {"weight": dice.number(1, 100), "podAffinityTerm": pod_term(dice)}
                for _ in range(dice.number(1, 2))
            ]
        if parts:
            found[block] = parts
    return found


def node_affinity(dice: Dice, names: list[str], *, rate: int) -> Object:
    """A nodeAffinity block, with malformed members now and then."""
    found: Object = {}
    if dice.chance(rate):
        terms = dice.several(lambda: _node_term(dice, names), 1, 3)
        found[REQUIRED] = {"nodeSelectorTerms": terms}
    if dice.chance(rate):
        found[PREFERRED] = [
            {"weight": dice.number(1, 100), "preference": _node_term(dice, names)}
            for _ in range(dice.number(1, 3))
        ]
    return found


def _node_term(dice: Dice, names: list[str]) -> Object:
    if dice.chance(3):
        return {}
    term: Object = {}
    if dice.chance(85):
        term["matchExpressions"] = dice.several(lambda: _node_expression(dice), 1, 2)
    if dice.chance(15) or not term:
        term["matchFields"] = [
            {
                "key": "metadata.name",
                "operator": dice.pick(("In", "NotIn", "In")),
                "values": [dice.pick((*names, "no-such-node"))],
            }
            for _ in range(1 if dice.chance(85) else 2)
        ]
    return term


def _node_expression(dice: Dice) -> Object:
    operator = dice.pick(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        value = dice.pick(("0", "1", "6", "007", "9223372036854775806"))
        if dice.chance(6):
            value = dice.pick(("x1", "99999999999999999999"))
        return {"key": "generation", "operator": operator, "values": [value]}
    key, values = dice.pick(
        ((ZONE, ZONES), ("rack", RACKS), ("kubernetes.io/arch", ("amd64", "arm64")))
    )
    if operator in ("In", "NotIn"):
        return {"key": key, "operator": operator, "values": dice.some(values, 1, 2)}
    return {"key": dice.pick((key, "absent-key")), "operator": operator}


def spread_constraint(dice: Dice, *, hard: bool) -> Object:
    """A topologySpreadConstraint with any of its policies."""
    found: Object = {
        "maxSkew": dice.pick((1, 1, 1, 2, 3, 5)),
        "topologyKey": dice.pick(TOPOLOGY[:5] if dice.chance(92) else TOPOLOGY),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    selector = label_selector(dice)
    if selector is not None:
        found["labelSelector"] = selector
    if hard and dice.chance(25):
        found["minDomains"] = dice.number(1, 5)
    if dice.chance(30):
        found["nodeAffinityPolicy"] = dice.pick(("Honor", "Ignore"))
    if dice.chance(35):
        found["nodeTaintsPolicy"] = dice.pick(("Honor", "Ignore"))
    if selector and dice.chance(20):
        named = {*selector.get("matchLabels", {})}
        named |= {item["key"] for item in selector.get("matchExpressions", ())}
        free = [key for key in LABELS if key not in named]
        if free:
            found["matchLabelKeys"] = [dice.pick(free)]
    return found


def spread(dice: Dice, *, rate: int) -> list[Object]:
    """Constraints of one pod; (topologyKey, whenUnsatisfiable) is unique in the API."""
    if not dice.chance(rate):
        return []
    found: dict[tuple[str, str], Object] = {}
    for _ in range(dice.number(1, 3)):
        item = spread_constraint(dice, hard=dice.chance(60))
        found[item["topologyKey"], item["whenUnsatisfiable"]] = item
    return list(found.values())
