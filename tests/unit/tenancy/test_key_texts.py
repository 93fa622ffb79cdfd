"""The text of an API key: its parts, its digest, and what is no key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tenancy import keys
from app.tenancy.authentication import bearer_token
from app.tenancy.idempotency import IdempotentRequest


def test_a_new_key_has_a_prefix_and_256_random_bits() -> None:
    made = {keys.new_key() for _ in range(50)}
    assert len({key.prefix for key in made}) == len({key.text for key in made}) == 50
    for key in made:
        assert keys.prefix_of(key.text) == key.prefix
        assert len(key.text.removeprefix(f"strata_{key.prefix}_")) == 43
        assert key.digest == keys.digest_of(key.text)
        assert len(key.digest) == 32


def test_a_digest_matches_its_own_key_alone() -> None:
    one, other = keys.new_key(), keys.new_key()
    assert keys.matches(one.text, one.digest)
    assert not keys.matches(other.text, one.digest)
    assert not keys.matches(one.text[:-1] + ("A" if one.text[-1] != "A" else "B"), one.digest)


@given(st.text(max_size=80))
def test_other_texts_have_no_prefix(text: str) -> None:
    assert keys.prefix_of(text) is None


@pytest.mark.parametrize(
    "change", [str.upper, lambda t: t + "\n", lambda t: " " + t, lambda t: t[:-1], lambda t: t + "A"]
)
def test_a_key_is_read_to_the_letter(change: object) -> None:
    text = keys.new_key().text
    assert callable(change)
    assert keys.prefix_of(change(text)) is None


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Bearer x", "x"),
        ("bearer  x ", "x"),
        ("Basic x", None),
        ("x", None),
    ],
)
def test_bearer_tokens(header: str | None, token: str | None) -> None:
    assert bearer_token(header) == token


def test_a_request_is_told_apart_by_method_path_and_body() -> None:
    first = IdempotentRequest.of("k", "POST", "/a", b"body")
    others = [
        IdempotentRequest.of("k", "PUT", "/a", b"body"),
        IdempotentRequest.of("k", "POST", "/b", b"body"),
        IdempotentRequest.of("k", "POST", "/a", b"body "),
        IdempotentRequest.of("k", "POST", "/a\0b", b"ody"),
    ]
    assert first is not None
    assert first == IdempotentRequest.of("k", "POST", "/a", b"body")
    assert first.digest not in {other.digest for other in others if other}
    assert IdempotentRequest.of(None, "POST", "/a", b"body") is None
