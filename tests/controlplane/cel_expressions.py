"""Expressions over Kubernetes' CEL libraries, made from values and forms: `python -m` prints them.

Each value of a kind meets each form of that kind, and each pair of values each form of two.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

QUANTITIES = (
    *(
        "0",
        "1",
        "-1",
        "+1",
        "1.5",
        "-0.5",
        "100m",
        "1000m",
        "1k",
        "50k",
        "2Ki",
        "1Mi",
        "1.5Gi",
        "1Gi",
    ),
    *(
        "1024Mi",
        "1000Ti",
        "1Ei",
        "8E",
        "1e3",
        "1E3",
        "12e6",
        "1.0",
        "0.1",
        "001",
        "1u",
        "10n",
        "0.0001n",
    ),
    *(
        "9999999999999999999999999999999999999G",
        "999999999999999999",
        "",
        "x",
        "1 ",
        " 1",
        "Mi",
        "Three",
    ),
    *(
        "200K",
        "1i",
        "--1",
        "1.2.3",
        ".5",
        "5.",
        "1e",
        "1e-3",
        "4.2e1",
        "1Zi",
        "-1Gi",
        "0x10",
        "9223372036854775807",
    ),
)
VERSIONS = (
    *(
        "1.0.0",
        "0.1.0-alpha.1",
        "1.2.3",
        "1.2.3-1",
        "1.2.3-a",
        "1.2.3-a.b",
        "1.2.3-a.1",
        "1.2.3+build",
    ),
    *(
        "1.2.3-a+build",
        "v1.0.0",
        "1.0",
        "1",
        "v1",
        "01.01.01",
        "1.2.3-01",
        "200K",
        "Three",
        "",
        "1.2.3.4",
    ),
    *(
        "1.2.x",
        "1.-1.0",
        "10.20.30",
        "2.0.0",
        "v01.2",
        "1.0-rc",
        "1.2.3-",
        "1.2.3+",
        "1.2.3-a..b",
        " 1.2.3",
    ),
)
ADDRESSES = (
    *(
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "169.254.1.1",
        "224.0.0.1",
        "224.0.1.1",
        "255.255.255.255",
    ),
    *(
        "192.168.0.1",
        "1.2.3",
        "1.2.3.4.5",
        "01.2.3.4",
        "256.1.1.1",
        "",
        "abc",
        "::",
        "::1",
        "fe80::1",
    ),
    *("ff02::1", "ff05::1", "2001:db8::abcd", "2001:DB8::ABCD", "2001:db8:0:0:0:0:0:1", "fd00::1"),
    *(
        "::ffff:1.2.3.4",
        "fe80::1%eth0",
        "::1.2.3.4",
        "1::2::3",
        "ff12::1",
        "1:2:3:4:5:6:7:8",
        "1:0:0:2:0:0:0:3",
    ),
)
NETWORKS = (
    *(
        "10.0.0.0/8",
        "10.1.2.3/8",
        "10.1.0.0/16",
        "0.0.0.0/0",
        "192.168.0.0/24",
        "10.1.2.3/32",
        "10.0.0.0/33",
    ),
    *(
        "10.0.0.0/08",
        "10.0.0.0/-1",
        "10.0.0.0",
        "10.0.0.0/",
        "/8",
        "",
        "x/8",
        "::/0",
        "2001:db8::/32",
    ),
    *(
        "2001:db8::1/64",
        "fe80::1%eth0/64",
        "::ffff:1.2.3.4/120",
        "::1/129",
        "10.0.0.0/8/8",
        "10.0.0.0/+8",
    ),
)
URLS = (
    *(
        "https://example.com:80/",
        "http://example.com/a/b?x=1&y=2&x=3#frag",
        "https://[::1]:80/path",
        "/a/b",
    ),
    *(
        "/a b",
        "https://u:p@example.com/",
        "../relative",
        "example.com",
        "",
        "*",
        "mailto:a@b",
        "http://",
    ),
    *(
        "https://a/%zz",
        "https://a/%41b",
        "https://a:x/",
        "https://a:/",
        "HTTP://A.b/C",
        "https://a b/",
        "//host/p",
    ),
    *(
        "https://a/?k=%20v+w",
        "https://a/?k",
        "https://a?b;c=1&d=2",
        "ftp://x/é",
        "https://a/p%2Fq",
        ":no",
        "1http://a",
    ),
    *(
        "https://a/!'()*",
        "https://a/a;b,c:d@e&f=g+h$i",
        "https://[::1/",
        "https://a#b%zz",
        "///x",
        "https:///x",
    ),
)
NAMES = (
    *(
        "my-name",
        "My-Name",
        "a.b",
        "-a",
        "a-",
        "1a",
        "a",
        "",
        "a" * 63,
        "a" * 64,
        "a" * 253,
        "a" * 254,
        "a_b",
    ),
    *(
        "example.com/name",
        "example.com/",
        "/name",
        "Example.com/n",
        "a b",
        "a.b-c.d",
        "aGVsbG8=",
        "aGVsbG8",
        "====",
    ),
    *(
        "2024-02-29",
        "2023-02-29",
        "2024-2-9",
        "2024-01-01T00:00:00Z",
        "2024-01-01t00:00:00z",
        "2024-01-01T25:00:00Z",
    ),
    *(
        "2024-01-01T00:00:00+02:00",
        "2024-01-01T00:00:00.123Z",
        "2024-01-01 00:00:00Z",
        "https://a.b/c",
        "é",
    ),
    *(
        "123e4567-e89b-12d3-a456-426614174000",
        "123E4567E89B12D3A456426614174000",
        "123e4567-e89b-12d3-a456",
    ),
)
FORMATS = (
    *(
        "dns1123Label",
        "dns1123Subdomain",
        "dns1035Label",
        "qualifiedName",
        "dns1123LabelPrefix",
        "labelValue",
    ),
    *("dns1123SubdomainPrefix", "dns1035LabelPrefix", "uri", "uuid", "byte", "date", "datetime"),
)
LISTS = (
    *(
        "[1, 2, 3]",
        "[3, 1, 2]",
        "[1.5, 0.5]",
        "['a', 'b', 'a']",
        "[true, false]",
        "[b'a', b'b']",
        "[]",
    ),
    *(
        "[dyn(1), 'a']",
        "[dyn(1), 2.5]",
        "[9223372036854775807, 1]",
        "[timestamp(5), timestamp(3)]",
        "[[1], [0]]",
    ),
    *("[1, 1, 2, 2]", "['é', 'z']", "[-1, -2]"),
)
TEXTS = ("abc 123", "aXbXc", "", "aaa", "x=1, y=22", "über 5", "a\\\\b")
PATTERNS = (
    "[0-9]+",
    "a",
    "(a)(b)?",
    "^a",
    "c$",
    "X",
    "(",
    "[",
    "(?i)A",
    "a|b",
    "a*",
    "(?:a)+",
    "\\\\d+",
    "(?P<n>y)=",
    "\\\\(",
    "[()]",
)
NUMBERS = (
    "1",
    "-1",
    "0",
    "1.0",
    "1.5",
    "2u",
    "0u",
    "-0.5",
    "9223372036854775807",
    "9223372036854775807.0",
)
FORMS: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (
        QUANTITIES,
        (
            "isQuantity('{0}')",
            "sign(quantity('{0}'))",
            "quantity('{0}').isInteger()",
            "quantity('{0}').asInteger()",
            "quantity('{0}') == quantity('1')",
            "string(quantity('{0}'))",
            "quantity('{0}').add(1).isInteger()",
            "quantity('{0}').sub(2).compareTo(quantity('0'))",
        ),
    ),
    (
        VERSIONS,
        (
            "isSemver('{0}')",
            "isSemver('{0}', true)",
            "semver('{0}').major()",
            "semver('{0}', true).minor()",
            "semver('{0}', true).patch()",
            "semver('{0}', true) == semver('1.0.0')",
        ),
    ),
    (
        ADDRESSES,
        (
            "isIP('{0}')",
            "ip.isCanonical('{0}')",
            "string(ip('{0}'))",
            "ip('{0}').family()",
            "ip('{0}').isUnspecified()",
            "ip('{0}').isLoopback()",
            "ip('{0}').isLinkLocalMulticast()",
            "ip('{0}').isLinkLocalUnicast()",
            "ip('{0}').isGlobalUnicast()",
            "cidr('10.0.0.0/8').containsIP('{0}')",
            "cidr('2001:db8::/32').containsIP(ip('{0}'))",
        ),
    ),
    (
        NETWORKS,
        (
            "isCIDR('{0}')",
            "string(cidr('{0}'))",
            "string(cidr('{0}').masked())",
            "string(cidr('{0}').ip())",
            "cidr('{0}').prefixLength()",
            "cidr('{0}').containsIP('10.1.2.3')",
        ),
    ),
    (
        URLS,
        (
            "isURL('{0}')",
            "url('{0}').getScheme()",
            "url('{0}').getHost()",
            "url('{0}').getHostname()",
            "url('{0}').getPort()",
            "url('{0}').getEscapedPath()",
            "url('{0}').getQuery()",
        ),
    ),
    (NAMES, tuple(f"format.{name}().validate('{{0}}').hasValue()" for name in FORMATS)),
    (FORMATS, ("format.named('{0}').value().validate('a').hasValue()",)),
    (("nope", ""), ("format.named('{0}').hasValue()", "format.named('{0}').value().validate('x')")),
    (
        LISTS,
        (
            "{0}.isSorted()",
            "{0}.sum()",
            "{0}.min()",
            "{0}.max()",
            "{0}.indexOf(2)",
            "{0}.lastIndexOf('a')",
            "{0}.reverse()",
            "{0}.distinct()",
            "{0}.slice(0, 1)",
            "{0}.sort()",
            "sets.contains({0}, {0})",
            "{0}.exists(i, v, i == 0)",
            "{0}.transformList(i, v, v)",
            "{0}.transformMap(i, v, i > 0, v)",
            "{0}.transformMapEntry(i, v, {{v: i}})",
            "{0}.all(x, x == x)",
            "size({0})",
        ),
    ),
)
PAIRS: Sequence[tuple[Sequence[str], Sequence[str], Sequence[str]]] = (
    (
        QUANTITIES[:24],
        QUANTITIES[:24],
        (
            "quantity('{0}').compareTo(quantity('{1}'))",
            "quantity('{0}').add(quantity('{1}')).asInteger()",
            "quantity('{0}').sub(quantity('{1}')).isInteger()",
            "quantity('{0}') == quantity('{1}')",
            "quantity('{0}').isLessThan(quantity('{1}'))",
            "quantity('{0}').isGreaterThan(quantity('{1}'))",
        ),
    ),
    (VERSIONS, VERSIONS, ("semver('{0}').compareTo(semver('{1}'))",)),
    (NETWORKS, NETWORKS, ("cidr('{0}').containsCIDR('{1}')", "cidr('{0}') == cidr('{1}')")),
    (
        TEXTS,
        PATTERNS,
        (
            "'{0}'.find('{1}')",
            "'{0}'.findAll('{1}')",
            "'{0}'.findAll('{1}', 1)",
            "'{0}'.matches('{1}')",
        ),
    ),
    (NUMBERS, NUMBERS, ("{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}", "dyn({0}) == {1}")),
    (("quantity('1')", "semver('1.0.0')", "ip('::')", "cidr('::/0')", "url('/')", "1", "'a'"),) * 2
    + (
        (
            "{0} == {1}",
            "{0}.compareTo({1})",
            "{0}.isLessThan({1})",
            "{0}.add({1})",
            "{0} + {1}",
            "string({0})",
            "{0}.containsIP({1})",
            "{0}.getHost()",
            "{0}.major()",
        ),
    ),
)


def expressions(*, combined: int = 0, seed: int = 0) -> Iterator[str]:
    """All of them, and so many at random that join several by operators."""
    simple = [
        form.format(value) for values, forms in FORMS for value, form in product(values, forms)
    ]
    simple += [
        form.format(one, other)
        for left, right, forms in PAIRS
        for one, other, form in product(left, right, forms)
    ]
    yield from dict.fromkeys(simple)
    dice = random.Random(seed)
    shapes: Mapping[int, str] = dict(
        enumerate(
            (
                "[{0}, {1}]",
                "{{'a': {0}}}['a'] == {1}",
                "dyn({0}) == dyn({1}) ? {0} : {1}",
                "(dyn({0}) == dyn({1})) || !(dyn({1}) == 1)",
                "[{0}].exists(x, x == {1})",
                "[{0}].map(x, dyn(x) == {1})",
                "optional.of({0}).orValue({1})",
                "type({0}) == type({1})",
            )
        )
    )
    for _ in range(combined):
        yield shapes[dice.randrange(len(shapes))].format(dice.choice(simple), dice.choice(simple))
