"""Dividing texts into spans: nothing lost, nothing twice, sensible sizes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.cli.importing import spans
from app.cli.importing.spans import Span

TEXTS = st.text(st.sampled_from("ab .!?。\n\t "), max_size=400)


def assert_partition(parts: list[Span], length: int) -> None:
    assert parts[0].start == 0
    assert parts[-1].end == length
    assert all(before.end == after.start for before, after in pairwise(parts))


@given(TEXTS, st.integers(1, 40))
def test_divided_parts_follow_each_other_and_none_is_longer_than_the_limit(text: str, limit: int) -> None:
    parts = list(spans.divide(text, Span(0, len(text)), limit))
    assert_partition(parts, len(text))
    assert all(len(part) <= limit for part in parts)


@given(st.lists(TEXTS, max_size=8).map("\n\n".join))
def test_packed_paragraphs_cover_the_text(text: str) -> None:
    assert_partition(spans.pack(spans.paragraphs(text)), len(text))


def test_a_line_end_is_the_best_cut_then_a_sentence_then_a_space_then_any() -> None:
    assert cut("aaaa bbbb. cc\ndddd eeee", 20) == ["aaaa bbbb. cc\n", "dddd eeee"]
    assert cut("aaaa bbbb cccc. dddd eeee", 20) == ["aaaa bbbb cccc. ", "dddd eeee"]
    assert cut("一二三四五六。七八九", 8) == ["一二三四五六。", "七八九"]
    assert cut("aaaa bbbb cccc dddd eeee", 20) == ["aaaa bbbb cccc dddd ", "eeee"]
    assert cut("a" * 25, 20) == ["a" * 20, "a" * 5]


def cut(text: str, limit: int) -> list[str]:
    return [text[part.start : part.end] for part in spans.divide(text, Span(0, len(text)), limit)]


def test_neighbours_are_packed_up_to_the_target() -> None:
    parts = [Span(0, 500), Span(500, 1_000), Span(1_000, 1_300), Span(1_300, 2_300)]
    assert spans.pack(parts) == [Span(0, 1_000), Span(1_000, 1_300), Span(1_300, 2_300)]


def test_a_small_rest_joins_the_piece_before() -> None:
    assert spans.pack([Span(0, 1_150), Span(1_150, 1_300)]) == [Span(0, 1_300)]
    assert spans.pack([Span(0, 1_150), Span(1_150, 1_400)]) == [Span(0, 1_150), Span(1_150, 1_400)]
    assert spans.pack([Span(0, 1_250), Span(1_250, 1_300)]) == [Span(0, 1_250), Span(1_250, 1_300)]


def test_a_glued_span_stays_with_the_one_before_unless_both_are_too_long() -> None:
    assert spans.pack([Span(0, 900), Span(900, 1_000), Span(1_000, 5_000, glued=True)]) == [
        Span(0, 900),
        Span(900, 5_000),
    ]
    assert spans.pack([Span(0, 300), Span(300, 15_200, glued=True)]) == [Span(0, 300), Span(300, 15_200)]


def test_a_trimmed_span_keeps_the_indentation_of_its_first_line() -> None:
    text = "\n \n    code\nmore  \n\n"
    assert spans.trimmed(text, Span(0, len(text))) == Span(3, 16)
    assert spans.trimmed(" \n\t", Span(0, 3)) is None


def test_line_numbers_count_from_one() -> None:
    starts = spans.line_starts("one\ntwo\nthree")
    assert spans.line_range(starts, Span(0, 3)) == (1, 1)
    assert spans.line_range(starts, Span(1, 5)) == (1, 2)
    assert spans.line_range(starts, Span(8, 13)) == (3, 3)
