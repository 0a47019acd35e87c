"""Whose certificates gitbot trusts: those of SSL_CERT_FILE, for every service alike.

Python's own TLS reads that variable. Git and requests, which PyGithub sends with, do not.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from gitbot.errors import UsageError

VARIABLE = "SSL_CERT_FILE"
HINT = f"set {VARIABLE} to a file that has the certificate of your authority too"


def trusted_file() -> str:
    """The file of certificates; "" for those that the machine or the library trusts.

    Raises UsageError if there is no such file: each library would say so in words of its own.
    """
    path = os.environ.get(VARIABLE, "")
    if path and not Path(path).is_file():
        raise UsageError(f"{VARIABLE} is {path}, and there is no such file", hint=HINT)
    return path


def is_untrusted(error: BaseException | None) -> bool:
    """Whether the server's certificate was refused, so that nothing was sent.

    Any other TLS error may follow the response.
    """
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        inner = next((item for item in error.args if isinstance(item, BaseException)), None)
        error = error.__cause__ or error.__context__ or inner  # urllib3 passes it as an argument
    return error is not None
