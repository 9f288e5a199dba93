"""The encoding contract: templates, end-of-text tokens, windows, padding, pooling, averaging."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.retrieval.encoding.contract import (
    Contract,
    Envelope,
    averaged,
    batches,
    normalised,
    pad,
    pool,
    positions,
    read_from,
    special_tokens,
    windows,
    with_eos,
)

PLAIN = Contract("{query}", "{document}", "mean", "", True, 16, "float32")
rows_of_tokens = st.lists(
    st.lists(st.integers(1, 50), min_size=1, max_size=9), min_size=1, max_size=6
)


@pytest.mark.parametrize(
    "changes",
    [
        {"query_template": "q: "},
        {"document_template": "{document} {document}"},
        {"pooling": "max"},
        {"window": 0},
    ],
)
def test_a_wrong_contract_is_refused(changes: dict[str, object]) -> None:
    values = {**vars(PLAIN), **changes}
    with pytest.raises(ValueError):
        Contract(**values)  # type: ignore[arg-type]


def test_templates_are_no_format_strings() -> None:
    contract = Contract("{a} x: {query}!", "{document}", "last", "", True, 8, "float32")
    assert contract.around("query") == ("{a} x: ", "!")
    assert contract.around("document") == ("", "")


def test_every_part_of_a_contract_is_in_its_key() -> None:
    changes = {
        "query_template": "q {query}",
        "document_template": "d {document}",
        "pooling": "last",
        "eos": "</s>",
        "normalise": False,
        "window": 17,
        "precision": "float16",
    }
    keys = {PLAIN.key("m"), PLAIN.key("other")}
    keys |= {Contract(**{**vars(PLAIN), key: value}).key("m") for key, value in changes.items()}
    assert len(keys) == len(changes) + 2


def test_special_tokens_are_found_on_both_sides() -> None:
    def bert(text: str, special: bool) -> list[int]:
        ids = [ord(letter) for letter in text]
        return [101, *ids, 102] if special else ids

    def split(text: str, special: bool) -> list[int]:
        return [1, 7, 8] if special else [9]

    assert special_tokens(bert) == Envelope([101], [102])
    assert special_tokens(lambda text, special: [5]) == Envelope([], [])
    with pytest.raises(ValueError):
        special_tokens(split)


def test_the_end_of_text_token_is_there_once() -> None:
    assert with_eos([1, 2], 9) == [1, 2, 9]
    assert with_eos([1, 9], 9) == [1, 9]
    assert with_eos([], 9) == [9]
    assert with_eos([1], None) == [1]


@settings(max_examples=60, deadline=None)
@given(
    bare=st.lists(st.integers(10, 99), max_size=40),
    head=st.lists(st.integers(1, 4), max_size=3),
    tail=st.lists(st.integers(5, 9), max_size=3),
    window=st.integers(7, 20),
)
def test_windows_hold_every_token_once_and_end_as_they_must(
    bare: list[int], head: list[int], tail: list[int], window: int
) -> None:
    envelope = Envelope(head, tail)
    made = windows([*head, *bare, *tail], bare, envelope, window)
    assert all(len(piece) <= window for piece in made)
    assert all(piece[: len(head)] == head for piece in made)
    assert all(piece[len(piece) - len(tail) :] == tail for piece in made)
    inner = [piece[len(head) : len(piece) - len(tail)] for piece in made]
    assert [token for piece in inner for token in piece] == bare
    assert {len(piece) for piece in inner[:-1]} <= {window - len(head) - len(tail)}
    assert len(made) == 1 or inner[-1]


def test_a_template_that_fills_the_window_is_refused() -> None:
    with pytest.raises(ValueError, match="fill the window of 4"):
        windows([1, 1, 5, 6, 2, 2], [5, 6], Envelope([1, 1], [2, 2]), 4)


@settings(max_examples=60, deadline=None)
@given(lengths=st.lists(st.integers(1, 30), max_size=40), budget=st.integers(1, 120))
def test_batches_keep_to_the_budget(lengths: list[int], budget: int) -> None:
    groups = batches(lengths, budget)
    assert sorted(position for group in groups for position in group) == list(range(len(lengths)))
    for group in groups:
        longest = max(lengths[position] for position in group)
        assert len(group) == 1 or len(group) * longest <= budget
    flat = [lengths[position] for group in groups for position in group]
    assert flat == sorted(lengths)


@settings(max_examples=40, deadline=None)
@given(rows=rows_of_tokens, seed=st.integers(0, 9))
@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_neither_side_nor_width_of_padding_changes_a_vector(
    pooling: str, rows: list[list[int]], seed: int
) -> None:
    table = np.random.default_rng(seed).normal(size=(60, 3))
    for side in ("left", "right"):
        ids, mask = pad(rows, 0, side)  # type: ignore[arg-type]
        assert [list(ids[n][mask[n] == 1]) for n in range(len(rows))] == rows
        found = pool(table[ids], mask, pooling)
        for number, row in enumerate(rows):
            alone = table[row]
            expected = {"cls": alone[0], "last": alone[-1], "mean": alone.mean(axis=0)}[pooling]
            np.testing.assert_allclose(found[number], expected, atol=1e-12)
        for number, row in enumerate(rows):
            assert positions(mask)[number][mask[number] == 1].tolist() == list(range(len(row)))


def test_reading_one_token_from_either_side() -> None:
    left, right = np.array([[0, 0, 1, 1]]), np.array([[1, 1, 1, 0]])
    assert [read_from(mask, "last")[0] for mask in (left, right)] == [3, 2]
    assert [read_from(mask, "cls")[0] for mask in (left, right)] == [2, 0]
    with pytest.raises(ValueError, match="without tokens"):
        read_from(np.zeros((1, 3), dtype=np.int64), "last")
    with pytest.raises(ValueError, match="reads no single token"):
        read_from(left, "mean")


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_instruction_stays_out_of_a_mean(side: str) -> None:
    hidden = np.arange(12, dtype=np.float64).reshape(1, 4, 3)
    _, mask = pad([[1, 1, 1]], 0, side)  # type: ignore[arg-type]
    mask = np.concatenate([mask, [[0]]], axis=1) if side == "right" else np.insert(mask, 0, 0, 1)
    found = pool(hidden, mask, "mean", skip=np.array([2]))
    np.testing.assert_array_equal(found[0], hidden[0, 3 if side == "left" else 2])
    with pytest.raises(ValueError, match="without tokens"):
        pool(hidden, mask, "mean", skip=np.array([3]))


def test_the_mean_over_windows_is_plain_and_normalised_first() -> None:
    vectors = np.array([[3.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    plain = averaged(vectors, [0, 0, 2], 3, normalise=False)
    np.testing.assert_allclose(plain, [[1.5, 0.5], [0, 0], [2, 2]])
    unit = averaged(vectors, [0, 0, 2], 3, normalise=True)
    np.testing.assert_allclose(unit, [[0.5, 0.5], [0, 0], [0.5**0.5, 0.5**0.5]], rtol=1e-6)
    assert unit.dtype == np.float32
    np.testing.assert_array_equal(normalised(np.zeros((2, 2))), np.zeros((2, 2)))
