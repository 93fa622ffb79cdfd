"""Splits texts into overlapping slices that fit a model's window, by the model's own tokenizer."""

import json
from collections.abc import Sequence
from typing import Final

from tokenizers import Encoding, Tokenizer

from app.embeddings.errors import EmbedderConfigurationError
from app.embeddings.protocol import TokenStatistics, replace_surrogates

# An overlap never takes more than this share of a window, or windows would multiply.
_LARGEST_OVERLAP_SHARE: Final = 0.5


class TokenWindows:
    """Splits and counts by tokens. Holds a tokenizer of its own that never changes, so any thread may use it.

    Args:
        tokenizer: The model's tokenizer; copied.
        limit: Tokens of text that a window holds, what `overhead` tells not counted.
        overlap: Tokens that two neighbouring windows share, about.
        short: Texts of up to so many characters are one window without a look at their tokens. Give 0 unless the
            model reads past its window anyway: normalisation can make more tokens than characters.

    Raises:
        EmbedderConfigurationError: The limit leaves no room for text.
    """

    def __init__(self, tokenizer: Tokenizer, *, limit: int, overlap: int, short: int = 0) -> None:
        if limit < 1:
            raise EmbedderConfigurationError(f"a window of {limit} tokens holds no text")
        self._tokenizer = _plain(tokenizer)
        self._limit = limit
        self._overlap = min(overlap, int(limit * _LARGEST_OVERLAP_SHARE))
        self._short = short
        self._unknown_id = _unknown_id(self._tokenizer)

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        """Split each text into slices of itself that cover it in order; a text that fits is one slice."""
        windows = [[text] for text in texts]
        doubtful = [index for index, text in enumerate(texts) if len(text) > self._short]
        readable = [replace_surrogates(texts[index]) for index in doubtful]
        encodings = self._tokenizer.encode_batch(readable, add_special_tokens=False)
        for index, encoding in zip(doubtful, encodings, strict=True):
            if len(encoding) > self._limit:
                windows[index] = self._slices(texts[index], encoding)
        return windows

    def statistics(self, text: str) -> TokenStatistics:
        """Count a text's tokens, those outside the vocabulary, and what the others cover."""
        encoding = self._encode(text)
        known = [token != self._unknown_id for token in encoding.ids]
        letters = [
            sum(map(str.isalpha, text[start:end])) if is_known else 0
            for is_known, (start, end) in zip(known, encoding.offsets, strict=True)
        ]
        return TokenStatistics(
            tokens=len(encoding),
            unknown=known.count(False),
            single_characters=sum(
                end - start == 1 and text[start].isalnum() for start, end in encoding.offsets
            ),
            lettered=sum(count > 0 or not is_known for count, is_known in zip(letters, known, strict=True)),
            letters=sum(letters),
        )

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(replace_surrogates(text), add_special_tokens=False)

    def _slices(self, text: str, encoding: Encoding) -> list[str]:
        count = len(encoding)
        # Windows of about equal size: a last one of a few tokens would say little.
        windows = -(-(count - self._overlap) // (self._limit - self._overlap))
        size = -(-(count + (windows - 1) * self._overlap) // windows)
        words, offsets = encoding.word_ids, encoding.offsets
        slices: list[str] = []
        start = reached = 0
        while True:
            end = count if count - start <= self._limit else _word_start(words, start + size, start + 1)
            begin = offsets[start][0] if start else 0
            end, window = self._fitting(text, encoding, begin=begin, start=start, end=end)
            if end <= reached:
                # Words so long that the overlap leaves room for no other: go on without it.
                start = reached
                continue
            slices.append(window)
            if end == count:
                return slices
            reached = end
            start = _word_start(words, max(start + 1, end - self._overlap), start + 1)

    def _fitting(self, text: str, encoding: Encoding, *, begin: int, start: int, end: int) -> tuple[int, str]:
        """Shorten a window until its slice, read on its own, fits: a cut inside a word can make more tokens."""
        while True:
            stop = encoding.offsets[end][0] if end < len(encoding) else len(text)
            window = text[begin:stop]
            excess = len(self._encode(window)) - self._limit
            if excess <= 0 or end == start + 1:
                return end, window
            end = _word_start(encoding.word_ids, max(start + 1, end - excess), start + 1)


def overhead(tokenizer: Tokenizer, prefixes: Sequence[str]) -> int:
    """Tokens that a model's own markers and the longest of the prefixes take in each window."""
    plain = _plain(tokenizer)
    prefix = max(len(plain.encode(text, add_special_tokens=False)) for text in prefixes)
    return prefix + int(plain.num_special_tokens_to_add(is_pair=False))


def _plain(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that neither cuts nor pads."""
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


def _word_start(words: Sequence[int | None], index: int, lowest: int) -> int:
    """The nearest token at or before `index` that begins a word, or `index` itself if there is none from `lowest`."""
    for candidate in range(index, lowest - 1, -1):
        if words[candidate] is None or words[candidate] != words[candidate - 1]:
            return candidate
    return index


def _unknown_id(tokenizer: Tokenizer) -> int | None:
    model = json.loads(tokenizer.to_str())["model"]
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    token = model.get("unk_token")
    return tokenizer.token_to_id(token) if token else None
