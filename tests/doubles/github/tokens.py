"""Who a token speaks for."""

from __future__ import annotations

from typing import Any

from tests.doubles.github.problems import Problem
from tests.doubles.github.state import Principal, State

_LEEWAY = 60  # seconds that a JSON Web Token may come from the future
_LONGEST = 600  # GitHub refuses an `exp` more than 10 minutes ahead


def principal_of(state: State, token: str, now: int) -> Principal:
    """Raises Problem (401) for an unknown or expired token, or a wrong JSON Web Token."""
    if not token:
        return Principal(kind="nobody")
    known = state.tokens.get(token)
    if known is not None:
        if known.expires and now >= known.expires:
            raise Problem(401, "Bad credentials")
        return known
    if token.count(".") == 2:
        return _app_of(state, token, now)
    raise Problem(401, "Bad credentials")


def _app_of(state: State, token: str, now: int) -> Principal:
    import jwt  # noqa: PLC0415 - brings a cryptography library along

    try:
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
        app = state.apps[int(claims["iss"])]
        jwt.decode(
            token,
            app.public_key,
            algorithms=["RS256"],
            options={"verify_exp": False, "verify_iat": False, "verify_nbf": False},
        )
        issued, expires = int(claims["iat"]), int(claims["exp"])
    except (jwt.PyJWTError, KeyError, TypeError, ValueError):
        raise Problem(401, "A JSON web token could not be decoded") from None
    if expires <= now:
        raise Problem(401, "'Expiration time' claim ('exp') must be a numeric value in the future")
    if expires > now + _LONGEST + _LEEWAY:
        raise Problem(401, "'Expiration time' claim ('exp') is too far in the future")
    if issued > now + _LEEWAY:
        raise Problem(401, "'Issued at' claim ('iat') must be an Integer in the past")
    return Principal(kind="app", login=f"{app.slug}[bot]", app_id=app.id)
