"""What a pull request that takes pins out says: a rule is offered where one is possible."""

from gitbot.kubernetes.names import NamespacedName
from gitbot.workflows.author.remove_pin import Pinned, Unpinning

WEB, DB = (NamespacedName(namespace="shop", name=name) for name in ("web", "db"))


def body(*, rules: dict[str, str], unlabelled: tuple[NamespacedName, ...]) -> str:
    pinned = tuple(Pinned(vm=vm, node="n1", files=("vms/a.yaml",)) for vm in (WEB, DB))
    return Unpinning(
        base="", files={}, pinned=pinned, typed=(), rules=rules, unlabelled=unlabelled
    ).body


def test_no_rule_is_promised_that_is_not_below() -> None:
    both = body(rules={"intents/web.yaml": "kind: PlacementRule\n"}, unlabelled=(DB,))
    assert "commit the rule below" in both
    assert "`intents/web.yaml`\n\n```yaml\nkind: PlacementRule\n```" in both
    assert both.endswith(
        "No rule is offered for shop/db: no label is its own. If it shall stay, give it one."
    )
    none = body(rules={}, unlabelled=(WEB, DB))
    assert "below" not in none
    assert "No rule is offered for shop/web, shop/db" in none
