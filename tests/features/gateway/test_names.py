"""Who asks, by the headers of a request."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ai_lessons.features.gateway.names import NameHeaders, caller_of, refuse_strangers
from ai_lessons.interfaces.mcp.callers import Caller, NotAdmitted
from features.gateway.gateway_world import ANN, BO, EMAIL, NAME, OURS, SECRET, as_bytes

WANTED = NameHeaders(NAME.lower(), EMAIL.lower(), "", OURS.lower())
BY_DOMAIN = NameHeaders(NAME.lower(), None, "acme.example", None)


def status_of(headers: list[tuple[bytes, bytes]], wanted: NameHeaders = WANTED) -> int:
    """The status with which these headers are refused; 0: they are not."""
    try:
        caller_of(headers, wanted)
    except NotAdmitted as refused:
        return refused.status
    return 0


def sent(
    name: bytes | None, email: bytes | None = b"ann@acme.example"
) -> list[tuple[bytes, bytes]]:
    rows = [(NAME.lower().encode(), name), (EMAIL.lower().encode(), email)]
    return [(key, value) for key, value in rows if value is not None]


def test_a_person_is_who_the_gateway_names() -> None:
    assert caller_of(as_bytes(ANN.sent()), WANTED) == Caller(ANN.email, ANN.author)
    assert caller_of(as_bytes(BO.sent()), WANTED).author == "Bo Müller <bo@acme.example>"
    assert caller_of(sent(b"Ann", b"Ann.B+x@ACME.example"), WANTED).name == "ann.b+x@acme.example"
    assert caller_of([(b"x-forwarded-user", b"ann")], BY_DOMAIN) == Caller(
        "ann@acme.example", "ann <ann@acme.example>"
    )


@pytest.mark.parametrize(
    ("name", "email", "status"),
    [
        (None, b"ann@acme.example", 401),
        (b"Ann", None, 401),
        (b"", b"ann@acme.example", 401),
        (b"  ", b"ann@acme.example", 401),
        (b"Ann\n<eve@x>", b"ann@acme.example", 400),
        (b"Ann\tB", b"ann@acme.example", 400),
        (b"Ann\x00", b"ann@acme.example", 400),
        (b"Ann\x7f", b"ann@acme.example", 400),
        (b"Ann <eve@acme.example>", b"ann@acme.example", 400),
        (b"Ann>", b"ann@acme.example", 400),
        (b"ann, eve", b"ann@acme.example", 400),
        (b"...", b"ann@acme.example", 400),
        (b"Ann\xff", b"ann@acme.example", 400),
        ("Ann\u202egro".encode(), b"ann@acme.example", 400),
        ("Ann\u200bB".encode(), b"ann@acme.example", 400),
        ("Ann\u00a0B".encode(), b"ann@acme.example", 400),
        ("Ann\u2028B".encode(), b"ann@acme.example", 400),
        ("Ann\ud800B".encode(errors="surrogatepass"), b"ann@acme.example", 400),
        (b"a" * 101, b"ann@acme.example", 431),
        (b"a" * 100_000, b"ann@acme.example", 431),
        (b"Ann", b"a" * 250 + b"@acme.example", 431),
        (b"Ann", b"ann", 400),
        (b"Ann", b"ann@acme.example, eve@acme.example", 400),
        (b"Ann", b"ann@acme.example> eve <eve@acme.example", 400),
        (b"Ann", b"../eve@acme.example", 400),
        (b"Ann", b"a/../../eve@acme.example", 400),
        (b"Ann", b".ann@acme.example", 400),
        (b"Ann", b"-ann@acme.example", 400),
        (b"Ann", b"ann@acme..example", 400),
        (b"Ann", b"ann@-acme.example", 400),
        (b"Ann", b"ann@acme.example.", 400),
        (b"Ann", b"ann@acme.example\nx", 400),
        (b"Ann", "änn@acme.example".encode(), 400),
        (b"Ann", "ann@acme.example\u200b".encode(), 400),
        ("Ãnn".encode(), b"ann@acme.example", 0),
        (b"a" * 100, b"ann@acme.example", 0),
        (b"O'Neil-Smith 2", b"o'neil@acme.example", 0),
    ],
)
def test_what_is_no_name_of_a_person_is_refused(
    name: bytes | None, email: bytes | None, status: int
) -> None:
    assert status_of(sent(name, email)) == status


def test_a_header_that_comes_twice_in_any_spelling_is_refused() -> None:
    once = as_bytes(ANN.sent())
    for name in (NAME, EMAIL, NAME.upper(), NAME.replace("-", "_"), "X_Forwarded-Email"):
        assert status_of([*once, (name.encode(), b"eve@acme.example")]) == 400, name
        assert status_of([(name.encode(), b"eve@acme.example"), *once]) == 400, name


def test_a_name_with_a_domain_brings_no_domain_of_its_own() -> None:
    for name in (b"eve@evil.example", b"eve@acme.example", b"ann x", b"ann/..", b"@"):
        assert status_of([(b"x-forwarded-user", name)], BY_DOMAIN) == 400, name
    assert status_of([(b"x-forwarded-user", b"a" * 90)], BY_DOMAIN) == 0


def test_only_who_has_the_secret_is_the_gateway() -> None:
    good = (OURS.lower().encode(), SECRET.encode())
    refuse_strangers([good], WANTED, SECRET)
    for sent_secrets in (
        [],
        [good, good],
        [good, (b"x_gateway_secret", b"x")],
        [(good[0], b"")],
        [(good[0], good[1][:-1])],
        [(good[0], good[1] + b" ")],
        [(good[0], good[1].upper())],
        [(good[0], b"Bearer " + good[1])],
        [(good[0], "ä".encode("latin-1") * 31)],
        [(b"authorization", good[1])],
    ):
        with pytest.raises(NotAdmitted) as refused:
            refuse_strangers(sent_secrets, WANTED, SECRET)
        assert refused.value.status == 403
        assert SECRET not in refused.value.sentence


TEXTS = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=120).map(lambda text: text.encode(errors="surrogatepass")),
    st.sampled_from([b"ann@acme.example", b"Ann", b"a@b"]),
)


@given(TEXTS, TEXTS)
@example(b"Ann", b"ann@acme.example")
def test_whatever_comes_is_refused_or_fits_into_a_commit_a_path_and_a_log(
    name: bytes, email: bytes
) -> None:
    """A caller is `Name <address>` on one line, with no other way to read it."""
    refused = status_of(sent(name, email))
    if refused:
        assert refused in {400, 401, 431}
        return
    caller = caller_of(sent(name, email), WANTED)
    shown, _, address = caller.author.rpartition(" <")
    assert address == f"{caller.name}>"
    assert not set("<>\n\r\0\t,") & set(shown + caller.name)
    assert all(unicodedata.category(sign)[0] != "C" for sign in caller.author)
    assert not set("/ \\") & set(caller.name)
    assert caller.name[0] not in ".-"
    assert caller.name == caller.name.lower()
