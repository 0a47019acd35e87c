"""A certificate authority of a few hours, for one control plane."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = timedelta(days=7)
EARLIER = timedelta(minutes=5)  # for clocks that differ
NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and its private key as PEM texts."""

    certificate: str
    key: str


class Authority:
    """Signs server and client certificates; its own certificate is `certificate`, PEM."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject("gitbot control plane", ())
        builder = self._builder(self._name, self._key.public_key())
        basic = x509.BasicConstraints(ca=True, path_length=None)
        self._certificate = builder.add_extension(basic, critical=True).sign(
            self._key, hashes.SHA256()
        )
        self.certificate = _certificate_text(self._certificate)

    def server(self, *hosts: str) -> Pair:
        """For a server on loopback, with the names of an API server if no others are given."""
        names = [x509.DNSName(name) for name in hosts or NAMES]
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        return self._signed(
            _subject("127.0.0.1", ()),
            ExtendedKeyUsageOID.SERVER_AUTH,
            x509.SubjectAlternativeName([*names, address]),
        )

    def client(self, user: str, groups: Sequence[str] = ()) -> Pair:
        """For a user of the API server: the common name is the user, organizations the groups."""
        return self._signed(_subject(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _signed(
        self,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key()).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate=_certificate_text(signed), key=key_text(key))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)  # noqa: TID251 - certificates live in the real time
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - EARLIER)
            .not_valid_after(now + LIFE)
        )


def signing_key() -> ec.EllipticCurvePrivateKey:
    """A key for the tokens of service accounts."""
    return ec.generate_private_key(ec.SECP256R1())


def key_text(key: ec.EllipticCurvePrivateKey) -> str:
    """A private key as PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()


def public_text(key: ec.EllipticCurvePrivateKey) -> str:
    """The public half of a key as PEM."""
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def _certificate_text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _subject(user: str, groups: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, user)])
