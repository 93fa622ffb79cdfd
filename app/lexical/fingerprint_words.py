"""The words that a fingerprint (:mod:`~app.lexical.fingerprint`) treats apart. Case-folded, apostrophes left out."""

from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NUMBER_WORDS: Final = _set(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred "
    "thousand million billion first second third fourth fifth half quarter twice thrice double triple "
    "single both"
)
_MONTHS: Final = _set("january february march april may june july august september october november december")
_NEGATIONS: Final = _set(
    "not no never none nobody nothing nor neither without cannot hardly isnt arent wasnt werent doesnt "
    "dont didnt hasnt havent hadnt wont wouldnt shouldnt cant couldnt stopped ceased aint mustnt neednt"
)
# Of other languages: a profile that is set to English holds such texts too.
_FOREIGN_NEGATIONS: Final = _set(
    "nicht kein keine keinen nie niemals ohne ne pas jamais sans non nunca jamás sin mai senza niet geen "
    "nooit não sem ikke aldri inte aldrig ej bez не ни нет без никогда"
)
QUALIFIERS: Final = _set(
    "until till unless except only if maybe perhaps possibly might could would almost nearly about "
    "approximately former formerly previous previously old new next last more less most least all some "
    "any every each few many current currently now was were had will used before after since during from "
    "to above below under over than or but by with against for"
)
# Of these the order and the number may differ.
_LOOSE: Final = _set(
    "was were had will before after during from to about by with for all some any each every over"
)
# What may stand in for each other: obligations.
MODALS: Final = _set("must need needs require requires required should shall has have")
DIRECTIONS: Final = _set("from to into onto before after than over against until for with toward towards")
FILLERS: Final = _set("please kindly fyi actually basically really simply also")
NUMBERS: Final = _NUMBER_WORDS | _MONTHS
MARKERS: Final = _NEGATIONS | _FOREIGN_NEGATIONS | (QUALIFIERS - _LOOSE)
"""Words whose presence changes the meaning of what follows."""
