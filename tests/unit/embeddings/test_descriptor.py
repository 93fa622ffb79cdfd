import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.embeddings.descriptor import HASH_DESCRIPTOR, EmbeddingDescriptor

NAMES = st.text(
    st.characters(exclude_characters="/@", exclude_categories=["Z", "C"]), min_size=1, max_size=12
)


def test_key_of_a_static_model_as_other_programs_write_it():
    descriptor = EmbeddingDescriptor(
        implementation="local-m2v",
        model="potion-base-8M",
        dimension=256,
        revision="v1",
        preprocessing="m2v-static-v1",
    )
    assert descriptor.key == "local-m2v/potion-base-8M/rev:v1/norm:l2/pp:m2v-static-v1"


def test_key_leaves_out_empty_revision_and_preprocessing():
    descriptor = EmbeddingDescriptor(implementation="openai", model="m", dimension=8, normalization="none")
    assert descriptor.key == "openai/m/norm:none"


def test_hash_has_its_fixed_key():
    assert HASH_DESCRIPTOR.key == "hotmem-hash-v1"
    assert HASH_DESCRIPTOR.dimension == 64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"implementation": ""}, "must not be empty"),
        ({"model": ""}, "must not be empty"),
        ({"model": "a/b"}, "model 'a/b' must not contain"),
        ({"revision": "v@1"}, "revision 'v@1' must not contain"),
        ({"preprocessing": "a b"}, "preprocessing 'a b' must not contain"),
        ({"dimension": 0}, "dimension 0 must be positive"),
        ({"normalization": "l1"}, "normalization 'l1'"),
        ({"metric": "dot"}, "metric 'dot'"),
    ],
)
def test_fields_out_of_their_domain_are_refused(changes, message):
    fields = {"implementation": "i", "model": "m", "dimension": 4} | changes
    with pytest.raises(ValueError, match=message):
        EmbeddingDescriptor(**fields)


@given(NAMES, NAMES, st.one_of(st.just(""), NAMES), st.one_of(st.just(""), NAMES))
def test_key_splits_into_what_it_was_made_of(implementation, model, revision, preprocessing):
    descriptor = EmbeddingDescriptor(
        implementation=implementation,
        model=model,
        dimension=2,
        revision=revision,
        preprocessing=preprocessing,
    )
    parts = descriptor.key.split("/")
    expected = [implementation, model]
    expected += [f"rev:{revision}"] if revision else []
    expected += ["norm:l2"]
    expected += [f"pp:{preprocessing}"] if preprocessing else []
    assert parts == expected
