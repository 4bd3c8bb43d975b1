"""Both models' next tokens and the draw: against torch's softmax and a draw written plainly; then the browser's."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from citer_core.engine import Engine
from citer_core.errors import SettingError, TraceError
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.next_tokens import N_SHOWN, Draw
from citer_core.tasks.datasets import bundled_rows
from citer_core.types import DecodeSettings, TokenEvent
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.asked import NEXT, probe_request
from tests.core.test_browser_engine import ask_node, order_of
from tests.sampling import sampled

PROBLEM = bundled_rows("math")[0].problem
SAMPLED = DecodeSettings(threshold=0.6, max_new_tokens=16, temperature=1.4, top_p=0.9, seed=5)
ALL_KEPT = replace(SAMPLED, top_p=1.0, seed=6)


def written(engine: Engine, settings: DecodeSettings) -> list[TokenEvent]:
    return list(engine.start(PROBLEM, router="citer", settings=settings))


def drawn_plainly(
    logits: torch.Tensor, settings: DecodeSettings, index: int
) -> tuple[int, float, int, dict[int, float]]:
    """Token, where its stretch begins, tokens kept, and their probabilities: a walk from the most probable one on."""
    scaled = np.exp((logits.double().numpy() - float(logits.max())) / settings.temperature)
    probabilities = scaled / scaled.sum()
    kept: dict[int, float] = {}
    for token_id in np.argsort(-probabilities, kind="stable"):
        if sum(kept.values()) >= settings.top_p:
            break
        kept[int(token_id)] = float(probabilities[token_id])
    mass = sum(kept.values())
    number, low = random.Random(f"citer:{settings.seed}:{index}").random(), 0.0
    chances = {one: probability / mass for one, probability in kept.items()}
    rest = list(chances)
    while len(rest) > 1 and low + chances[rest[0]] <= number:
        low += chances[rest.pop(0)]
    return rest[0], low, len(kept), chances


@pytest.mark.parametrize("settings", sampled([SAMPLED, ALL_KEPT], 2), ids=["top-p", "all kept"])
def test_the_candidates_are_torchs_and_the_draw_gives_what_the_run_wrote(
    engine: Engine, settings: DecodeSettings
) -> None:
    events = written(engine, settings)
    ids = [*engine.pair.encode(PROBLEM.prompt), *(event.token_id for event in events)]
    n_beyond_first = 0
    for event in events:
        found = engine.next_tokens(PROBLEM, [e.token_id for e in events[: event.index]], settings)
        assert found.llm is not None
        for source, offer, model in (("slm", found.slm, engine.pair.slm), ("llm", found.llm, engine.pair.local_llm)):
            with torch.inference_mode():
                logits = model.model(torch.tensor([ids[: event.context_len]])).logits[0, -1, : model.vocab_size].float()
            values, top_ids = torch.softmax(logits, -1).topk(N_SHOWN)
            assert [c.probability for c in offer.top] == pytest.approx(values.tolist(), abs=1e-5)
            assert offer.top[0].token_id == int(top_ids[0])
            token_id, low, n_kept, chances = drawn_plainly(logits, settings, event.index)
            draw = offer.draw
            assert isinstance(draw, Draw)
            assert (draw.token.token_id, draw.n_kept) == (token_id, n_kept)
            assert draw.low == pytest.approx(low, abs=1e-5)
            assert draw.token.probability == pytest.approx(chances[token_id], abs=1e-5)
            assert draw.low <= draw.number <= draw.low + draw.token.probability + 1e-5
            wanted = [chances.get(c.token_id, 0.0) for c in offer.top]
            assert draw.probabilities == pytest.approx(wanted, abs=1e-5)
            if source == event.source:
                assert draw.token.token_id == event.token_id
                n_beyond_first += draw.rank > 0
        assert found.slm.draw is not None and found.slm.draw.token.token_id == event.slm_token_id
    assert n_beyond_first >= 3


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_browser_says_the_same(engine: Engine) -> None:
    orders, ours = [], []
    for settings in (SAMPLED, replace(SAMPLED, temperature=0.0)):
        prompt = order_of(PROBLEM, "citer", settings)
        ids = [event.token_id for event in written(engine, settings)]
        for n, text in ((0, ""), (3, " dollars"), (len(ids), "<|endoftext|>"), (7, " Sam is away"), (9, "é")):
            orders.append({**prompt, "token_ids": ids[:n], "text": text})
            ours.append(json.loads(json.dumps(asdict(engine.next_tokens(PROBLEM, ids[:n], settings, text)))))
    for mine, its in zip(ours, ask_node(next=orders)["next"], strict=True):
        assert (mine["typed"], mine["n_typed"]) == (its["typed"], its["n_typed"])
        for name in ("slm", "llm"):
            one, other = mine[name], its[name]
            assert [c[2] for c in one["top"]] == pytest.approx([c[2] for c in other["top"]], abs=1e-4)
            assert one["top"][0][:2] == other["top"][0][:2]
            assert (one["draw"] is None) == (other["draw"] is None)
            if one["draw"] is None:
                continue
            assert one["draw"].keys() == other["draw"].keys()
            for key in ("number", "n_kept", "rank"):
                assert one["draw"][key] == other["draw"][key]
            assert one["draw"]["token"][:2] == other["draw"]["token"][:2]
            for key in ("kept", "low"):
                assert one["draw"][key] == pytest.approx(other["draw"][key], abs=1e-4)
            assert one["draw"]["probabilities"] == pytest.approx(other["draw"]["probabilities"], abs=1e-4)


def test_a_text_is_counted_in_tokens_and_a_server_gives_no_distribution(engine: Engine) -> None:
    def typed(text: str) -> tuple[int, str | None]:
        found = engine.next_tokens(PROBLEM, [], DecodeSettings(), text)
        assert found.slm.draw is None
        return found.n_typed, found.typed and engine.pair.tokenizer.decode([found.typed[0]])

    assert typed("") == (0, None)
    assert typed(" dollars") == (1, " dollars")
    n, first = typed(" dollars in total")
    assert n > 1 and first == " dollars"

    away = Engine(replace(engine.pair, llm=object.__new__(RemoteLM)), {"citer": engine.router("citer")})
    found = asdict(away.next_tokens(PROBLEM, [], DecodeSettings()))
    assert found["llm"] is None and len(found["slm"]["top"]) == N_SHOWN
    with pytest.raises(SettingError, match="does not know"):
        engine.next_tokens(PROBLEM, [engine.pair.vocab_size], DecodeSettings())


def test_what_a_page_asks_goes_through_the_gate() -> None:
    prompt = {"data_type": "math", "question": PROBLEM.question, "text": PROBLEM.prompt}
    settings = {
        name: getattr(SAMPLED, name) for name in ("threshold", "max_new_tokens", "temperature", "top_p", "seed")
    }
    asked = {"prompt": prompt, "true_answer": None, "pair_revision": "r", "token_ids": [1, 2], "settings": settings}
    book = ProblemBook.bundled()
    read = probe_request(json.dumps({**asked, "text": " a"}), book, NEXT)
    assert (read.token_ids, read.settings, read.text, read.prompt_text) == ([1, 2], SAMPLED, " a", PROBLEM.prompt)
    for wrong in (
        {"text": "a" * 1001},
        {"token_ids": [-1]},
        {"settings": {**settings, "top_p": 0}},
        {"text": "\ud800"},
    ):
        with pytest.raises((TraceError, SettingError)):
            probe_request(json.dumps({**asked, **wrong}), book, NEXT)
