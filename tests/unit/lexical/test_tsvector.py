from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.lexical.analysis import AnalyzedDocument, Analyzer
from app.lexical.tsvector import prefixed, space_prefix, tsvector_literal

PROFILE = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
TERMS = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("'\\ :,"), min_size=1
)
POSITIONS = st.lists(st.integers(1, 16_383), min_size=1, max_size=5, unique=True).map(sorted)


def parse(literal):
    """Read a tsvector literal by PostgreSQL's rules: quoted lexemes, doubled quotes and backslashes, positions."""
    lexemes, at = {}, 0
    while at < len(literal):
        assert literal[at] == "'"
        at += 1
        lexeme = ""
        while literal[at] != "'" or literal[at + 1] == "'":
            if literal[at] in "'\\":
                at += 1
            lexeme += literal[at]
            at += 1
        assert literal[at : at + 2] == "':"
        end = literal.find(" ", at)
        end = len(literal) if end < 0 else end
        lexemes[lexeme] = [int(number) for number in literal[at + 2 : end].split(",")]
        at = end + 1
    return lexemes


def test_prefix_is_five_url_safe_characters_of_the_random_tail():
    assert space_prefix(PROFILE) == "CZqAV"
    assert space_prefix(UUID(int=PROFILE.int + 4)) != space_prefix(PROFILE)


def test_literal():
    document = Analyzer.for_config("english").document("O'Brien reads C:\\logs\\a.txt")
    assert tsvector_literal(document, "CZqAV").startswith(
        "'CZqAVo':1 'CZqAVobrien':1 'CZqAVbrien':2 'CZqAVread':3 "
    )
    assert tsvector_literal(AnalyzedDocument({"it's \\": [1, 7]}, 1), "CZqAV") == "'CZqAVit''s \\\\':1,7"
    assert tsvector_literal(AnalyzedDocument({}, 0), "CZqAV") == ""


def test_prefixed_terms_keep_their_order():
    assert prefixed(("b", "a"), "CZqAV") == ["CZqAVb", "CZqAVa"]


@given(st.dictionaries(TERMS, POSITIONS, max_size=8))
def test_any_lexeme_survives_quoting(lexemes):
    literal = tsvector_literal(AnalyzedDocument(lexemes, 0), "CZqAV")
    assert parse(literal) == {"CZqAV" + term: positions for term, positions in lexemes.items()}
