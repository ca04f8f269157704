"""The parts of an identity: joined and split again."""

import pytest
from hypothesis import given, strategies as st

from ratewindow.identity import joined, split
from ratewindow.identity.typed_values import beginning, kind_and_name

kinds = st.sampled_from(["ip:", "user:", "header:x-a:", "post:a:", "jwt:a%3Ab:", "shop.limits.tenant:"])
parts = st.tuples(kinds, st.text(min_size=1, max_size=20)).map("".join)


@given(st.lists(parts, min_size=2, max_size=4))
def test_what_is_joined_can_be_taken_apart(values: list[str]) -> None:
    assert split(joined(values)) == tuple(values)


@given(parts)
def test_a_single_value_is_one_part(value: str) -> None:
    assert split(value) == (value,)


@pytest.mark.parametrize("text", ["", "3:abcX3:abc", "9:abc", "3:abc+", "3:abc+x", "99999999:a", "1:"])
def test_what_nobody_joined_stays_whole(text: str) -> None:
    assert split(text) == (text,)


@given(st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_the_name_of_a_claim_may_have_colons_and_stays_apart_from_the_value(name: str, value: str) -> None:
    assert kind_and_name(beginning("jwt", name) + value) == ("jwt", name, value)
