"""Products of a few rows in bfloat16: exact whichever way is taken, and the fastest way chosen."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch

from citer_core.models.products import (
    PLAIN,
    ROW_CLASSES,
    WAYS,
    Kind,
    Measured,
    Measurements,
    Products,
    choose,
    kind_of,
    measure_products,
    representatives,
    ways_for,
)

SHAPES: Mapping[Kind, tuple[int, int]] = {"wide": (32, 128), "tall": (128, 32)}


def all_by(way: str) -> Measurements:
    """As if one way were the fastest wherever it can be taken."""
    kinds: tuple[Kind, ...] = ("tall", "square", "wide")
    by_rows = {rows: Measured(way if way in ways_for(rows) else PLAIN, {way: 1.0}) for rows in ROW_CLASSES}
    return dict.fromkeys(kinds, by_rows)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_rows", [1, 2, 3, 9, 16, 17])
def test_every_way_is_as_exact_as_the_plain_one(way, n_rows):
    """Against float64: off by what rounding the result costs, and not by rounded sums."""
    numbers = torch.Generator().manual_seed(n_rows)
    sizes = ((n_rows, 300), (300, 70), (70,), (n_rows, 70))
    x, weight, bias, hidden = (torch.randn(size, generator=numbers).bfloat16() for size in sizes)
    weight = weight.t().contiguous().t()  # as it lies in memory
    product = Products(all_by(way))
    exact, added = x.double() @ weight.double(), hidden.clone()
    product.add_to(added, x, weight)
    step = torch.finfo(torch.bfloat16).eps
    for ours, truth in (
        (product(x, weight), exact),
        (product(x, weight, bias), exact + bias.double()),
        (added, exact + hidden.double()),
    ):
        assert ours.shape == (n_rows, 70) and ours.dtype == torch.bfloat16 and ours.is_contiguous()
        assert float((ours.double() - truth).abs().max()) < 2 * step * float(exact.abs().max())


@pytest.mark.parametrize(
    ("speeds", "way"),
    [
        # One row, as measured on a processor with AMX, and on one with AVX-512 BF16 alone.
        ({"plain": 16.0, "vector": 23.0, "doubled": 17.0, "transposed": 20.0}, "vector"),
        ({"plain": 19.5, "vector": 8.2, "doubled": 21.3, "transposed": 19.7}, "doubled"),
        # Sixteen rows of a tall matrix there, and of a wide one.
        ({"plain": 14.7, "transposed": 19.1}, "transposed"),
        ({"plain": 12.1, "transposed": 7.2}, "plain"),
        # Within what a measurement wanders.
        ({"plain": 20.0, "transposed": 20.9}, "plain"),
    ],
)
def test_the_fastest_way_is_chosen_on_both_kinds_of_processors(speeds, way):
    assert choose(speeds) == Measured(way, speeds)


def test_what_was_measured_decides_by_kind_of_matrix_and_rows(monkeypatch):
    taken = []
    for name, way in WAYS.items():
        monkeypatch.setitem(WAYS, name, lambda x, w, name=name, way=way: (taken.append(name), way(x, w))[1])  # type: ignore[arg-type]
    wide = {rows: Measured("vector" if rows == 1 else "transposed" if rows > 8 else PLAIN, {}) for rows in ROW_CLASSES}
    product = Products({"wide": wide})
    for n_rows, (n_in, n_out) in ((1, (8, 64)), (2, (8, 64)), (9, (8, 64)), (17, (8, 64)), (1, (64, 8)), (1, (8, 8))):
        product(torch.ones(n_rows, n_in).bfloat16(), torch.ones(n_in, n_out).bfloat16())
    product(torch.ones(1, 8), torch.ones(8, 64))  # in float32 there is one way
    assert taken.count("vector") == 1 and taken.count("transposed") == 1
    assert not taken.count("doubled")


def test_the_shape_that_most_bytes_are_in_stands_for_its_kind():
    n_bytes = {(10, 100): 5, (10, 90): 50, (100, 10): 7, (10, 10): 1, (10, 20): 2}
    assert representatives(n_bytes) == {"wide": (10, 90), "tall": (100, 10), "square": (10, 20)}
    assert (kind_of(10, 21), kind_of(10, 20), kind_of(20, 10), kind_of(21, 10)) == ("wide", "square", "square", "tall")


def test_every_kind_and_class_of_rows_is_measured():
    found = measure_products(SHAPES)
    assert set(found) == set(SHAPES)
    for by_rows in found.values():
        assert tuple(by_rows) == ROW_CLASSES
        for rows, measured in by_rows.items():
            assert set(measured.bytes_per_s) == set(ways_for(rows)) and measured.way in ways_for(rows)
            assert min(measured.bytes_per_s.values()) > 0
