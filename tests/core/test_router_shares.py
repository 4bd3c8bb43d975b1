"""How a budget becomes a tau, and a tau the share of tokens that a stored router's card lists."""

from __future__ import annotations

import pytest

from citer_core.errors import RouterError
from citer_core.routing.catalog import load_router
from tests.core.test_stored_routers import a_router


@pytest.mark.parametrize(
    ("share", "tau"), [(0.0, 0.1), (0.25, 0.2), (0.1, 0.14), (0.5, 0.4), (0.625, 0.6), (0.75, 0.8), (1.0, 0.9)]
)
def test_a_share_becomes_a_tau_between_the_cards_quantiles(tiny_pair, share, tau):
    """Five quantiles, so a share of 0.1 lies 0.4 of the way from the first to the second."""
    router = a_router("citer", tiny_pair, training={"confidence_quantiles": [0.1, 0.2, 0.4, 0.8, 0.9]})
    assert router.threshold_at(share) == pytest.approx(tau)


@pytest.mark.parametrize(
    ("tau", "share"),
    [(-1.0, 0.0), (0.0, 0.0), (0.005, 0.1), (0.01, 0.2), (0.5, 0.2), (0.995, 0.6), (1.0, 1.0), (2, 1.0)],
)
def test_a_tau_becomes_the_share_that_the_card_lists(tiny_pair, tmp_path, tau, share):
    training = {"llm_shares_at_tau": [0.0, *[0.2] * 99, 1.0], "confidence_quantiles": [0.3, 0.4]}
    a_router("citer", tiny_pair, training=training).save(tmp_path)
    assert load_router(tmp_path / "citer.json", tiny_pair).share_at(tau) == pytest.approx(share)


def test_a_card_without_the_list_says_it_by_its_quantiles(tiny_pair, tmp_path):
    """Cards from before there was a list, among them those that ship."""
    quantiles = [i / 100 for i in range(101)]
    a_router("citer", tiny_pair, training={"confidence_quantiles": quantiles}).save(tmp_path)
    router = load_router(tmp_path / "citer.json", tiny_pair)
    assert [router.share_at(tau) for tau in (0.1, 0.37, 0.9)] == pytest.approx([0.1, 0.37, 0.9], abs=0.01)
    with pytest.raises(RouterError, match="what share of tokens is below a tau"):
        a_router("citer", tiny_pair, training={}).share_at(0.5)


@pytest.mark.parametrize("training", [{}, {"training": {}}, {"training": {"confidence_quantiles": []}}])
def test_a_card_without_quantiles_knows_no_budget(tiny_pair, training):
    with pytest.raises(RouterError, match=r"no confidence quantiles.*Give a threshold"):
        a_router("citer", tiny_pair, **training).threshold_at(0.2)
