import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from app.embeddings.errors import EmbedderConfigurationError
from app.embeddings.token_windows import TokenWindows, overhead


def word_tokenizer():
    """Words a..j, each a token; every other word is unknown. It cuts and pads, as published models' do."""
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2} | {word: 3 + i for i, word in enumerate("abcdefghij")}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    return tokenizer


def piece_tokenizer():
    """Word pieces of one character: words of several tokens, and more tokens when a word is cut open."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[UNK]", *letters, *(f"##{letter}" for letter in letters)]
    model = models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def assert_covers(text, windows):
    """The windows are slices of the text, in order, and leave no character out."""
    assert text.startswith(windows[0])
    assert text.endswith(windows[-1])
    reached = len(windows[0])
    start = 0
    for window in windows[1:]:
        # Of several places where the slice may come from, the last that leaves no gap.
        start = text.rindex(window, start, reached + len(window))
        reached = max(reached, start + len(window))
    assert reached == len(text)


def test_a_text_that_fits_is_one_window():
    windows = TokenWindows(word_tokenizer(), limit=4, overlap=1)
    assert windows.split(["a b c d", "", "  a  ", "zz"]) == [["a b c d"], [""], ["  a  "], ["zz"]]


def test_long_texts_are_cut_into_even_overlapping_slices():
    windows = TokenWindows(word_tokenizer(), limit=4, overlap=1)
    assert windows.split(["a b c d e", " a b  c d e f g h i j\n"]) == [
        ["a b c ", "c d e"],
        [" a b  c d ", "d e f g ", "g h i j\n"],
    ]


def test_cuts_fall_between_words_also_when_these_are_longer_than_the_overlap():
    windows = TokenWindows(piece_tokenizer(), limit=10, overlap=2)
    assert windows.split(["alpha beta gamma delta epsilon"]) == [
        ["alpha beta ", "beta gamma ", "gamma delta ", "epsilon"]
    ]


def test_a_word_longer_than_the_window_is_cut_inside():
    windows = TokenWindows(piece_tokenizer(), limit=5, overlap=1)
    text = "abcdefghijklmnop"
    slices = windows.split([text])[0]
    assert_covers(text, slices)
    assert all(len(piece) <= 5 for piece in slices)


@given(
    st.text(st.sampled_from("ab c1 .\n\x00\u200bé机😀\ud83d[]<|>"), max_size=200),
    st.integers(1, 20),
    st.integers(0, 30),
)
def test_windows_cover_the_text_and_fit(text, limit, overlap):
    windows = TokenWindows(piece_tokenizer(), limit=limit, overlap=overlap)
    slices = windows.split([text])[0]
    assert_covers(text, slices)
    assert all(windows.statistics(piece).tokens <= limit for piece in slices)


@given(st.integers(5, 400), st.integers(8, 40), st.integers(0, 4))
def test_neighbours_share_the_overlap(count, limit, overlap):
    windows = TokenWindows(word_tokenizer(), limit=limit, overlap=overlap)
    words = ["abcdefghij"[number % 10] for number in range(count)]
    slices = windows.split([" ".join(words)])[0]
    sizes = [len(piece.split()) for piece in slices]
    assert sum(sizes) - overlap * (len(sizes) - 1) == count
    assert max(sizes) <= limit
    assert max(sizes) - min(sizes) <= len(sizes)


def test_short_texts_are_not_read_when_told_so():
    assert TokenWindows(word_tokenizer(), limit=2, overlap=0, short=5).split(["a b c", "a b c d"]) == [
        ["a b c"],
        ["a b ", "c d"],
    ]


def test_statistics_count_unknown_and_single_characters():
    statistics = TokenWindows(word_tokenizer(), limit=4, overlap=0).statistics("a zebra b 机 unknown\ud83d")
    assert (statistics.tokens, statistics.unknown, statistics.single_characters) == (6, 4, 3)
    assert TokenWindows(word_tokenizer(), limit=4, overlap=0).statistics(" ").tokens == 0


def test_unigram_models_tell_their_unknown_token_by_id():
    tokenizer = Tokenizer(models.Unigram([("<s>", 0.0), ("<unk>", -1.0), ("a", -1.0)], unk_id=1))
    statistics = TokenWindows(tokenizer, limit=4, overlap=0).statistics("aza")
    assert (statistics.tokens, statistics.unknown) == (3, 1)


def test_overhead_counts_markers_and_the_longest_prefix_without_padding():
    assert overhead(word_tokenizer(), ["", "a b "]) == 4
    assert overhead(word_tokenizer(), ["", ""]) == 2


def test_a_window_without_room_is_refused():
    with pytest.raises(EmbedderConfigurationError, match="a window of 0 tokens holds no text"):
        TokenWindows(word_tokenizer(), limit=0, overlap=0)
