"""Causes that virt-api alone gives: gitbot writes no such fields."""

from __future__ import annotations

from gitbot.kubevirt.webhook_answers import Cause


def required_value(field: str, message: str) -> Cause:
    return Cause(reason="FieldValueRequired", message=message, field=field)
