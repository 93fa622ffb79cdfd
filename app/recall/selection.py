"""From a ranked list to the slots of an answer. Pure functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

from app.lexical.fingerprint import Fingerprint, decoded, fingerprint
from app.memory.service import RecalledFragment
from app.recall.candidates import Candidate
from app.recall.diversity import collapse
from app.recall.policy import Diversity

Group = tuple[Candidate, list[Candidate]]
Windows = npt.NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Selection:
    """How the slots of an answer are filled."""

    limit: int
    diversity: Diversity
    text_search_config: str

    @property
    def window(self) -> int:
        """Candidates to look at in one go: the slots, and what near-duplicates may take beside them."""
        return self.limit + self.limit // 2 + 2 if self.diversity == "collapse" else self.limit

    def grouped(self, found: Sequence[Candidate], read: Mapping[UUID, RecalledFragment]) -> list[Group]:
        """Candidates in order, each with its near-duplicates where these share a slot."""
        if self.diversity != "collapse":
            return [(candidate, []) for candidate in found]
        return collapse(found, lambda candidate: self._fingerprint(read[candidate.id]))

    def _fingerprint(self, fragment: RecalledFragment) -> Fingerprint:
        """The stored fingerprint; one of other rules is made anew."""
        return decoded(fragment.fingerprint) or fingerprint(fragment.view.content, self.text_search_config)


def similarity_of(vectors: Sequence[Windows]) -> Callable[[int, int], float]:
    """Cosine of two memories by position: that of their closest windows, 0 where one has none."""
    unit = [None if windows is None else _normalised(windows) for windows in vectors]

    def similarity(first: int, second: int) -> float:
        one, other = unit[first], unit[second]
        return 0.0 if one is None or other is None else float((one @ other.T).max())

    return similarity


def _normalised(windows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths = np.linalg.norm(windows, axis=1, keepdims=True)
    normalised: npt.NDArray[np.float32] = windows / np.maximum(lengths, np.float32(1e-12))
    return normalised
