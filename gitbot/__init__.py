"""gitbot: GitOps for where virtual machines run."""

from functools import cache


@cache
def gitbot_version() -> str:
    """The tag or commit that this gitbot was built from; "0.0.0" if that is unknown."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - a slow one

    try:
        return version("kubevirt-gitbot")
    except PackageNotFoundError:  # a folder in PYTHONPATH
        return "0.0.0"
