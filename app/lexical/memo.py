"""A bounded memory for results of pure functions, cheaper than an LRU cache where each look-up counts."""

from typing import Final, Generic, TypeVar

_Value = TypeVar("_Value")

GENERATION: Final = 32_768


class Memo(Generic[_Value]):
    """Two generations of results: when the young one is full it becomes the old one, and the old one is dropped.

    What is used again moves to the young generation, so frequent keys survive. Threads may share a memo: each step is
    one atomic dictionary operation, and the worst that a race does is compute a result twice.
    """

    def __init__(self, generation: int = GENERATION) -> None:
        """Hold at most twice ``generation`` results."""
        self._generation = generation
        self._old: dict[str, _Value] = {}
        self.young: dict[str, _Value] = {}

    def get(self, key: str) -> _Value | None:
        """The result kept for a key, or nothing."""
        value = self.young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.young[key] = value
        return value

    def put(self, key: str, value: _Value) -> _Value:
        """Keep a result; return it."""
        if len(self.young) >= self._generation:
            self._old = self.young
            self.young = {}
        self.young[key] = value
        return value
