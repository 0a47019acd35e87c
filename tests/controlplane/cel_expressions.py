"""Expressions over Kubernetes' CEL libraries, made from values and forms.

`cel_expressions.json` has the values of each kind. Each value of a kind meets each form of that
kind, and each pair of values each form of two.
"""

import json
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

SHAPES = (
    "[{0}, {1}]",
    "{{'a': {0}}}['a'] == {1}",
    "dyn({0}) == dyn({1}) ? {0} : {1}",
    "(dyn({0}) == dyn({1})) || !(dyn({1}) == 1)",
    "[{0}].exists(x, x == {1})",
    "[{0}].map(x, dyn(x) == {1})",
    "optional.of({0}).orValue({1})",
    "type({0}) == type({1})",
)


def expressions(*, combined: int = 0, seed: int = 0) -> Iterator[str]:
    """All of them, and so many at random that join two by operators."""
    found = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    values = found["values"]
    simple = [
        form.format(*given)
        for *kinds, forms in (*found["forms"], *found["pairs"])
        for *given, form in product(*(values[kind] for kind in kinds), forms)
    ]
    yield from dict.fromkeys(simple)
    dice = random.Random(seed)
    for _ in range(combined):
        yield SHAPES[dice.randrange(len(SHAPES))].format(dice.choice(simple), dice.choice(simple))
