"""A certificate for 127.0.0.1 that a test's clients are told to trust."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SINCE = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_UNTIL = dt.datetime(2049, 1, 1, tzinfo=dt.UTC)


def tls_context(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """What a server needs, and the file that a client trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a GitHub for tests")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_SINCE)
        .not_valid_after(_UNTIL)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    trusted = folder / "certificate.pem"
    trusted.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = folder / "key.pem"
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, private)
    return context, trusted
