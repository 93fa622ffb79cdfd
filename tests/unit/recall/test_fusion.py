"""The fusion rules: literal values, and properties over generated candidates."""

import math
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall.fusion import (
    Fusion,
    FusionCandidate,
    FusionConstants,
    FusionSignals,
    QueryTerm,
    best_of_surprise,
    fuse,
    normal_surprise,
    readability,
    rrf,
)

ONE, TWO, THREE = (UUID(int=number) for number in (1, 2, 3))
SIGNALS = FusionSignals(
    documents=1_000,
    terms=(QueryTerm(weight=5.0, documents=6), QueryTerm(weight=1.2, documents=300)),
    semantic_mean=0.2,
    semantic_deviation=0.1,
    letters_per_token=4.2,
)

cosines = st.floats(-1, 1)
bm25_scores = st.floats(0, 60)
shares = st.floats(0, 1)
candidates = st.builds(
    FusionCandidate,
    semantic=st.none() | cosines,
    keyword=st.none() | bm25_scores,
    coverage=shares,
)
signals = st.builds(
    FusionSignals,
    documents=st.integers(0, 10_000_000),
    terms=st.lists(
        st.builds(QueryTerm, weight=st.floats(0, 100), documents=st.integers(0, 10_000_000)), max_size=8
    ).map(tuple),
    semantic_mean=cosines,
    semantic_deviation=st.floats(0, 1),
    letters_per_token=st.none() | st.floats(0, 12),
)


def values(fusion: Fusion) -> list[float]:
    return [fused.score for fused in fusion.scores]


class TestReciprocalRanks:
    def test_semantic_rank_four_and_keyword_rank_two(self):
        assert rrf({ONE: 4}, {ONE: 2})[ONE] == pytest.approx(0.031754032258064516, rel=1e-15)

    def test_each_arm_alone_counts_once(self):
        assert rrf({ONE: 1}, {TWO: 1, ONE: 3}) == {ONE: 1 / 61 + 1 / 63, TWO: 1 / 61}

    def test_constant(self):
        assert rrf({ONE: 1}, {}, k=9) == {ONE: 0.1}

    def test_no_candidates(self):
        assert rrf({}, {}) == {}


class TestNormalSurprise:
    @pytest.mark.parametrize(
        ("z", "nats"),
        [
            (0, math.log(2)),
            (1.959963984540054, math.log(40)),
            (3, 6.607726221510349),
            (5, 15.064998393988727),
            (10, 53.23128515051247),
        ],
    )
    def test_values(self, z, nats):
        assert normal_surprise(z) == pytest.approx(nats, rel=1e-9)

    def test_tail_series_continues_the_exact_branch(self):
        below, above = normal_surprise(30.0), normal_surprise(30.000001)
        assert above - below == pytest.approx(30e-6, rel=0.1)

    @given(st.floats(-1e6, 1e6), st.floats(0, 1e3))
    def test_finite_positive_and_rising(self, z, step):
        assert 0 <= normal_surprise(z) <= normal_surprise(z + step) < math.inf


class TestBestOfSurprise:
    @given(st.floats(-50, 50))
    def test_one_window_is_the_normal_case(self, z):
        assert best_of_surprise(z, 1.0) == normal_surprise(z)

    @pytest.mark.parametrize(
        ("count", "z", "nats"),
        # By numerical integration of scipy's normal distribution.
        [(10.0, 3.0, 5.33128), (10.0, 4.5, 8.83097), (2.0, 0.0, 0.712024), (1.3, 2.0, 3.71907)],
    )
    def test_values(self, count, z, nats):
        assert best_of_surprise(z, count) == pytest.approx(nats, abs=2e-4)

    def test_more_windows_have_more_chances(self):
        assert best_of_surprise(5.0, 1) > best_of_surprise(5.0, 2) > best_of_surprise(5.0, 20)

    @given(st.floats(-1e6, 1e6), st.floats(0, 1e3), st.floats(1, 500))
    def test_finite_positive_and_rising(self, z, step, count):
        assert 0 <= best_of_surprise(z, count) <= best_of_surprise(z + step, count) + 1e-9 < math.inf


class TestReadability:
    @pytest.mark.parametrize(
        ("letters", "expected"), [(None, 1.0), (0.3, 0.0), (1.5, 0.0), (2.25, 0.5), (3.0, 1.0), (4.8, 1.0)]
    )
    def test_values(self, letters, expected):
        assert readability(letters) == expected


class TestWeights:
    def test_even_arms_without_signal(self):
        fused = fuse([FusionCandidate(semantic=0.3)], SIGNALS)
        assert fused.explanation["semantic_weight"] == pytest.approx(0.3)
        assert fused.explanation["keyword_weight"] == 0.5
        assert fused.scores[0].semantic_evidence == pytest.approx(normal_surprise(1.0))
        assert fused.scores[0].score == pytest.approx(0.3 * normal_surprise(1.0))

    def test_strength_is_what_exceeds_the_best_of_as_many_unrelated_documents(self):
        fused = fuse([FusionCandidate(semantic=0.8)], SIGNALS)
        strength = normal_surprise(6.0) - math.log(1_000)
        assert fused.explanation["semantic_strength"] == pytest.approx(strength)
        assert fused.explanation["semantic_weight"] == pytest.approx(0.3 * (3 + strength) / 3)

    def test_keyword_evidence_is_bennetts_bound(self):
        signals = FusionSignals(documents=100, terms=(QueryTerm(weight=4.0, documents=2),), k1=1.0)
        fused = fuse([FusionCandidate(keyword=2.0, coverage=1.0)], signals)
        # Twice the score is 4.0, its mean 0.08, its variance 0.02 * 0.98 * 16.
        u = 4.0 * 3.92 / 0.3136
        assert u == pytest.approx(50.0)
        expected = 0.0196 * (51 * math.log(51) - 50) + 1e-3
        assert fused.scores[0].keyword_evidence == pytest.approx(expected)
        assert fused.scores[0].score == pytest.approx(expected)

    def test_one_rare_word_tells_more_than_many_common_ones(self):
        rare = replace(SIGNALS, terms=(QueryTerm(6.5, 1),))
        common = replace(SIGNALS, terms=tuple(QueryTerm(0.65, 500) for _ in range(10)))
        hit = [FusionCandidate(keyword=6.5 / 2.2)]
        assert fuse(hit, rare).scores[0].keyword_evidence > 5
        assert fuse(hit, common).scores[0].keyword_evidence < 4

    def test_lead_is_measured_over_the_fifth(self):
        crowd = [FusionCandidate(keyword=0.5) for _ in range(20)]
        ahead = fuse([FusionCandidate(keyword=5.0, coverage=1.0), *crowd], SIGNALS)
        evidence = [fused.keyword_evidence for fused in ahead.scores]
        assert ahead.explanation["keyword_lead"] == pytest.approx(evidence[0] - evidence[1] - math.log(5))
        among_many = fuse([FusionCandidate(keyword=5.0) for _ in range(10)], SIGNALS)
        assert among_many.explanation["keyword_lead"] == 0.0

    def test_a_full_list_tells_apart_only_what_it_names(self):
        found = [FusionCandidate(semantic=0.5), FusionCandidate(semantic=0.5, keyword=0.9)]
        credited = fuse(found, replace(SIGNALS, keyword_floor=0.9))
        assert credited.scores[0].keyword_evidence == credited.scores[1].keyword_evidence > 0
        exhausted = fuse(found, SIGNALS)
        assert exhausted.scores[0].keyword_evidence == 0

    def test_coverage_of_the_best_keyword_hit(self):
        fused = fuse(
            [FusionCandidate(keyword=4.0, coverage=0.8), FusionCandidate(keyword=1.0, coverage=1.0)], SIGNALS
        )
        assert fused.explanation["keyword_weight"] == 0.8

    def test_unreadable_question_leaves_it_to_the_words(self):
        unread = replace(SIGNALS, letters_per_token=0.3)
        fused = fuse([FusionCandidate(semantic=0.9), FusionCandidate(semantic=0.1, keyword=2.0)], unread)
        assert values(fused)[1] > values(fused)[0] > 0
        assert fused.explanation["readability"] == 0.0
        assert fused.explanation["reason"] == (
            "the embedding model cannot read the question's language: words decide"
        )

    @pytest.mark.parametrize(
        ("found", "reason"),
        [
            (FusionCandidate(semantic=0.9), "no document holds a word of the question: meaning decides"),
            (
                FusionCandidate(semantic=0.9, keyword=0.1, coverage=0.1),
                "the best match by meaning stands out more than the best by words",
            ),
            (
                FusionCandidate(semantic=0.2, keyword=5.0, coverage=1.0),
                "the best match by words stands out more than the best by meaning",
            ),
            (FusionCandidate(semantic=0.2, keyword=0.1, coverage=0.1), "neither arm stands out from chance"),
        ],
    )
    def test_reasons(self, found, reason):
        others = [FusionCandidate(semantic=0.1, keyword=0.05) for _ in range(9)]
        if found.keyword is None:
            others = [FusionCandidate(semantic=0.1)]
        assert fuse([found, *others], SIGNALS).explanation["reason"] == reason

    def test_constants_are_the_policys(self):
        louder = fuse([FusionCandidate(semantic=0.3)], SIGNALS, FusionConstants(semantic_weight=0.6))
        assert louder.explanation["semantic_weight"] == pytest.approx(0.6)

    def test_no_candidates(self):
        assert fuse([], SIGNALS).scores == ()

    def test_near_duplicates_without_spread_stay_finite(self):
        flat = replace(SIGNALS, semantic_mean=0.95, semantic_deviation=0.0)
        assert values(fuse([FusionCandidate(semantic=0.96)], flat)) == [
            pytest.approx(0.3 * normal_surprise(1.0))
        ]


class TestProperties:
    @given(st.lists(candidates, max_size=30), signals)
    def test_always_finite_and_never_negative(self, found, about):
        fused = fuse(found, about)
        assert len(fused.scores) == len(found)
        assert all(math.isfinite(score) and score >= 0 for score in values(fused))
        assert all(math.isfinite(part) for part in fused.explanation.values() if not isinstance(part, str))

    @given(st.lists(candidates, min_size=1, max_size=20), signals, st.randoms(use_true_random=False))
    def test_order_of_candidates_does_not_matter(self, found, about, random):
        places = list(range(len(found)))
        random.shuffle(places)
        straight = values(fuse(found, about))
        assert values(fuse([found[place] for place in places], about)) == [
            straight[place] for place in places
        ]

    @given(
        st.lists(candidates, max_size=20),
        st.tuples(cosines, st.floats(0, 1)),
        st.tuples(bm25_scores, st.floats(0, 10)),
        signals,
    )
    def test_better_in_both_arms_never_ranks_below(self, found, semantic, keyword, about):
        worse = FusionCandidate(semantic=semantic[0], keyword=keyword[0])
        better = FusionCandidate(semantic=min(1.0, sum(semantic)), keyword=sum(keyword))
        high, low, *_ = values(fuse([better, worse, *found], about))
        assert high >= low

    @given(st.lists(st.floats(-0.5, 1), min_size=2, max_size=20, unique=True))
    def test_without_keyword_hits_the_order_is_the_semantic_one(self, scores):
        for about in (SIGNALS, replace(SIGNALS, letters_per_token=0.0)):
            fused = values(fuse([FusionCandidate(semantic=score) for score in scores], about))
            ordered = [score for _, score in sorted(zip(scores, fused, strict=True))]
            assert ordered == sorted(fused)

    @given(st.lists(st.integers(1, 6_000), min_size=2, max_size=20, unique=True), signals)
    def test_without_vectors_the_order_is_the_keyword_one(self, hundredths, about):
        scores = [number / 100 for number in hundredths]
        fused = values(fuse([FusionCandidate(keyword=score) for score in scores], about))
        ordered = [score for _, score in sorted(zip(scores, fused, strict=True))]
        assert ordered == sorted(fused)
        assert len(set(fused)) == len(scores)

    @given(st.lists(candidates, min_size=12, max_size=20))
    def test_a_hit_of_no_arm_changes_nothing(self, found):
        before = fuse(found, SIGNALS)
        after = fuse([*found, FusionCandidate()], SIGNALS)
        assert values(after)[:-1] == values(before)
        assert values(after)[-1] == 0
