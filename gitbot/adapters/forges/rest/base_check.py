"""Whether the base branch is protected: for `doctor`."""

from __future__ import annotations

from gitbot.model.plan.diagnosis import Check, failed, passed, warned


def base_check(branch: str, *, protected: bool, push_fix: str = "") -> Check:
    """`push_fix`: how to take the right to push from gitbot's account; "" if it has none."""
    if not protected:
        fix = f"protect {branch}: configuration, policies and intents are believed from there"
        said = f"{branch} is not protected: who may write, may push to it"
        return failed("forge/base", said, fix)
    if push_fix:
        return warned("forge/base", f"gitbot's account may push to {branch}", push_fix)
    return passed("forge/base", f"{branch} is protected")
