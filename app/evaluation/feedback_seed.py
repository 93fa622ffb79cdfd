"""Accepted candidates as a seed directory: the documents of the set that was asked, with the new cases."""

import tempfile
from pathlib import Path

import msgspec

from app.evaluation.errors import EvaluationError
from app.evaluation.feedback import Candidate, accepted_rows
from app.evaluation.formats.judged import JudgedSet
from app.evaluation.formats.loading import load_set
from app.evaluation.formats.seeds import MANIFEST
from app.evaluation.suites.writing import SeedDraft


def write_accepted(found: list[Candidate], asked: JudgedSet, folder: Path, out: Path) -> JudgedSet:
    """Write the accepted candidates; the set as it is read back.

    Args:
        found: Candidates, decided or not.
        asked: The set that the recalls were made on; its documents are the new one's.
        folder: Where that set lies; its licences go along.
        out: Gets the seed directory; must not hold one already.

    Raises:
        EvaluationError: nothing is accepted, the folder holds a set, or it cannot be written.
        InvalidSet: the accepted cases are wrong, with what is wrong; nothing is written.
    """
    cases, qrels = accepted_rows(found)
    if not cases:
        raise EvaluationError("no candidate is accepted", "Judge them with `strata eval review-cases`.")
    if (out / MANIFEST).exists():
        raise EvaluationError(f"{out} holds a set already", "Give another --out.")
    draft = _draft(asked, folder, out.resolve().name)
    for case, qrel in zip(cases, qrels, strict=True):
        draft.add_case(msgspec.to_builtins(case), msgspec.to_builtins(qrel))
    with tempfile.TemporaryDirectory(prefix="strata-eval-") as scratch:
        trial = Path(scratch) / "seed"
        draft.write(trial)
        load_set(trial)
    draft.write(out)
    return load_set(out)


def _draft(asked: JudgedSet, folder: Path, name: str) -> SeedDraft:
    licences = asked.manifest.get("licenses_file")
    draft = SeedDraft(
        name,
        f"Cases from feedback on {asked.name}, accepted by a person.",
        sources=asked.manifest.get("sources") or [{"name": asked.name, "license": "as that set"}],
        licence=(folder / licences).read_text(encoding="utf-8") if licences else f"As {asked.name}.\n",
    )
    draft.corpus += [msgspec.to_builtins(document) for document in asked.documents]
    return draft
