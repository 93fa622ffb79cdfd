import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical.identifiers import MAX_TERM_CHARACTERS, bounded, extract
from app.lexical.normalize import clean


def strong(text):
    return {name.term for name in extract(clean(text)) if name.strong}


def weak(text):
    return {name.term for name in extract(clean(text)) if not name.strong}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("see PROJ-123, now.", {"=proj-123"}),
        ("(UNT-013)", {"=unt-013"}),
        ("v1.6.2", {"=v1.6.2", "=1.6.2"}),
        ("Released 1.6.2.", {"=1.6.2"}),
        ("1.0.0-beta.2", {"=1.0.0-beta.2"}),
        ('"user_id"', {"=user_id"}),
        ("__init__ and _private", {"=__init__", "=_private"}),
        ("feedback:read", {"=feedback:read"}),
        ("std::vector", {"=std::vector"}),
        ("`scripts/ci-check.sh`", {"=scripts/ci-check.sh", "=ci-check.sh"}),
        ("./scripts/ci-check.sh", {"=scripts/ci-check.sh", "=ci-check.sh"}),
        ("src/foo.py:42", {"=src/foo.py:42", "=src/foo.py", "=foo.py"}),
        (r"C:\Logs\Run.TXT", {"=c:/logs/run.txt", "=run.txt"}),
        ("/etc/hosts", {"=etc/hosts"}),
        ("edit .textlintrc.json", {"=.textlintrc.json"}),
        ("commit 2e4b0cc.", {"=2e4b0cc"}),
        ("2E4B0CC1D2E3F4A5", {"=2e4b0cc1d2e3f4a5", "=2e4b0cc"}),
        ("C++, C# and .NET", {"=c++", "=c#", "=.net"}),
        ("ASP.NET", {"=asp.net"}),
        ("6F1C2A30-1B2C-4D5E-8F90-AABBCCDDEEFF", {"=6f1c2a30-1b2c-4d5e-8f90-aabbccddeeff"}),
        ("<Bob.Smith+x@Example.com>", {"=bob.smith+x@example.com"}),
        ("https://www.Example.com/a?b=c.", {"=example.com/a?b=c"}),
        ("10.0.0.1:8080", {"=10.0.0.1:8080", "=10.0.0.1"}),
        ("ERR_CONN_RESET", {"=err_conn_reset"}),
        ("E1234 and 0x80070005", {"=e1234", "=0x80070005"}),
        ("ORA-00942", {"=ora-00942"}),
        ("NullPointerException", {"=nullpointerexception"}),
        ("getUserById()", {"=getuserbyid"}),
        ("os.path.join", {"=os.path.join"}),
        ("com.foo.BarBaz", {"=com.foo.barbaz", "=barbaz"}),
        ("ask @alice", {"=@alice"}),
        ("git commit --no-verify", {"=--no-verify"}),
        ("密钥sk-abc123在这里", {"=sk-abc123"}),
    ],
)
def test_identifiers_stay_whole(text, terms):
    assert strong(text) == terms


@pytest.mark.parametrize(
    "text",
    ["PR 56", "PR #56", "PR#56", "pr-56", "pr_56", "GH-56", "pull request 56", "Pull Request #56,", "pull_request_number=56",
     "merge request 56", "github.com/foo/bar/pull/56"],
)  # fmt: skip
def test_spellings_of_a_pull_request_meet(text):
    assert {"=pr-56", "=#56"} <= strong(text)


@pytest.mark.parametrize(
    "text", ["issue 412", "issue #412", "Issue: 412", "issue-412", "https://forge.example/a/b/issues/412"]
)
def test_spellings_of_an_issue_meet(text):
    assert {"=issue-412", "=#412"} <= strong(text)


def test_a_bare_hash_number_meets_every_spelling():
    assert strong("(#56)") == {"=#56"}


@pytest.mark.parametrize("text", ["HTTP 503", "http/503", "HTTP status 503", "HTTP error 503."])
def test_http_status(text):
    assert "=http-503" in strong(text) or "=http/503" in strong(text)


@pytest.mark.parametrize(
    "text",
    ["singer/songwriter and/or km/h", "The U.S. and, e.g., co-operate", "well-known self-driving", "pull 3 records", "it ended.Next day",
     "deadbeef 1234567", "at 10:30 on 2023-05-08", "3.14 and 1,000 and 5%", "_emphasis_ and **bold**", "don't (really) stop...now",
     "AT&T", "a/b", "-5 - 7 -- dashes", "plain Words HERE"],
)  # fmt: skip
def test_ordinary_prose_has_no_strong_identifier(text):
    assert strong(text) == set()


def test_prose_compounds_are_weak():
    assert weak("and/or at 10:30 on 2023-05-08") == {"=and/or", "=10:30", "=2023-05-08"}


def test_a_long_term_keeps_its_beginning_and_a_digest_of_the_whole():
    first, second = bounded("x" * 5_000 + "a"), bounded("x" * 5_000 + "b")
    assert len(first) == MAX_TERM_CHARACTERS
    assert first.startswith("xxxx")
    assert first != second


@given(st.text(alphabet=st.characters(codec=None)) | st.text(alphabet="aA1_-./:\\#@+&~ pr", max_size=600))
def test_any_text_gives_marked_lower_case_terms_without_white_space(text):
    for name in extract(clean(text)):
        assert name.term[0] == "="
        assert len(name.term) > 1
        assert not any(map(str.isspace, name.term))
        assert name.term == name.term.lower()
