from app.lexical.memo import Memo


def test_keeps_at_most_two_generations_and_what_is_used_again():
    memo = Memo[int](generation=2)
    assert memo.get("a") is None
    for number, key in enumerate("abc"):
        assert memo.put(key, number) == number
    assert memo.get("a") == 0  # of the old generation: young again
    memo.put("d", 3)
    assert [memo.get(key) for key in "abcd"] == [0, None, 2, 3]
