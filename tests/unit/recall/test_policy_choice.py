from typing import get_args

import pytest

from app.errors import StrataError
from app.http.fields import PolicyName
from app.recall.policy import POLICIES, chosen_policy


def test_requests_may_name_the_policies_that_there_are():
    assert set(get_args(PolicyName)) == set(POLICIES)


@pytest.mark.parametrize(
    ("named", "pinned", "chosen", "kept"),
    [
        (None, None, "strata-v1", True),
        (None, "documented-v1", "documented-v1", True),
        ("strata-v1", "documented-v1", "strata-v1", True),
        (None, "of a later version", "strata-v1", False),
        ("documented-v1", "of a later version", "documented-v1", True),
    ],
)
def test_a_request_goes_before_the_pin_and_the_pin_before_the_default(named, pinned, chosen, kept):
    policy, pin_kept = chosen_policy(named, pinned)
    assert (policy.name, pin_kept) == (chosen, kept)


def test_an_unknown_name_in_a_request_is_refused():
    with pytest.raises(StrataError, match="must be one of strata-v1, documented-v1"):
        chosen_policy("nobody-v9", None)
