"""The numbers of the Labels tab, against slow and independent ways to the same numbers."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from citer_core.assets import ASSETS
from citer_core.evaluation.branches import roll_out_branches
from citer_core.evaluation.label_view import label_texts
from citer_core.evaluation.metrics import expected_calibration_error, reliability, wilson_interval
from citer_core.labelling.teacher_forcing import example_from_text, example_of
from citer_core.routing.decode import decode
from citer_core.routing.routers.training_free import AlwaysSLMRouter
from citer_core.tasks.answers import check_answer
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.prompts import row_completion
from citer_core.types import DecodeSettings, prefers_llm
from tests.label_verdicts import BestThreshold, Confusion, confusion
from tests.sampling import few_or_all

N_EACH = 3
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
ROUTERS = ("citer", "max-probability", "entropy", "margin", "random", "disagreement")


@pytest.fixture(scope="module")
def texts(engine):
    """Bundled problems of both formats."""
    rows = [(row.row, kind) for kind in ("math", "mc") for row in bundled_rows(kind)[:N_EACH]]
    examples = [example_of(row, kind, engine.pair) for row, kind in rows]
    return rows, list(label_texts(engine.pair, [engine.router(name) for name in ROUTERS], examples))


@pytest.fixture(scope="module")
def columns(texts):
    """All tokens: label, and confidence by router, as the curves take them."""
    label = torch.cat([text.label for text in texts[1]]).numpy().astype(np.int64)
    confidence = {n: torch.cat([t.confidence[n] for t in texts[1]]).numpy().astype(np.float64) for n in ROUTERS}
    return label, confidence


def next_token(lm, ids):
    """A forward pass of its own for one token, no cache, no batch."""
    with torch.inference_mode():
        out = lm.model(torch.tensor([ids]), output_hidden_states=True)
    return out.logits[0, -1], out.hidden_states[-1][0, -1]


@pytest.mark.parametrize("every", few_or_all(64, 4))
def test_cases_probabilities_and_confidences_are_those_of_one_token_passes(engine, texts, every):
    """At every fourth token, in each text from another one on."""
    pair = engine.pair
    for number, text in enumerate(texts[1]):
        example = text.example
        for i, truth in list(enumerate(example.truth_ids))[number % every :: every]:
            ids = example.prompt_ids + example.truth_ids[:i]
            (slm, hidden), (llm, _) = next_token(pair.slm, ids), next_token(pair.llm, ids)
            assert (int(slm.argmax()), int(llm.argmax())) == (int(text.slm_ids[i]), int(text.llm_ids[i]))
            assert int(text.case[i]) == (1 if slm.argmax() == truth else 2 if llm.argmax() == truth else 3)
            p, q = slm.softmax(-1), llm.softmax(-1)
            citer = torch.sigmoid(engine.router("citer").network(hidden[None]))
            expected = [p.max(), q.max(), p[truth], q[truth], p.max(), citer]
            found = [
                text.slm_probability[i], text.llm_probability[i], text.slm_truth_probability[i],
                text.llm_truth_probability[i], text.confidence["max-probability"][i], text.confidence["citer"][i],
            ]  # fmt: skip
            assert [float(x) for x in found] == pytest.approx([float(x) for x in expected], abs=2e-5)


def test_pieces_are_the_ground_truth_and_the_end_is_labelled(engine, texts):
    for (row, kind), text in zip(*texts, strict=True):
        assert "".join(text.pieces) == row_completion(row, kind)
        assert text.pieces[-1] == "" and text.example.truth_ids[-1] in engine.pair.eos_ids
        assert text.n_tokens == len(text.case) == len(text.label) == len(text.example.truth_ids)


def test_awkward_texts_are_kept_literally(engine):
    """Characters of several tokens, markup, templates, and a special token's name in the ground truth itself."""
    pair, router = engine.pair, engine.router("max-probability")
    problem = bundled_rows("math")[0].problem
    for completion in (" 🎉 שלום é <script>${x}</script> {{y}}", f" a{pair.tokenizer.eos_token}b \\boxed{{1}}", " 🎉"):
        (text,) = label_texts(pair, [router], [example_from_text(problem, completion, pair)])
        assert "".join(text.pieces) == completion


@pytest.mark.parametrize(("n_each", "n_least"), [pytest.param(6, 31, marks=pytest.mark.slow)])
def test_case_three_is_labelled_by_the_slms_own_rollout(engine, n_each, n_least):
    rows = [(row.row, kind) for kind in ("math", "mc") for row in bundled_rows(kind)]
    pair = engine.pair
    examples = [example_of(row, kind, pair) for row, kind in [*rows[20 : 20 + n_each], *rows[-n_each:]]]
    # The bundled LLM is nearly always right: of a wrong copy of the truth, later tokens are wrong for both.
    for example in examples[: min(3, n_each)]:
        wrong = pair.tokenizer.decode(example.truth_ids[:-1]).replace("1", "4")
        examples.append(example_from_text(example.problem, wrong, pair))
    checked = []
    for text in label_texts(pair, [AlwaysSLMRouter()], examples):
        assert text.label[text.case == 1].all() and not text.label[text.case == 2].any()
        for i in (text.case == 3).nonzero()[:, 0].tolist():
            ids = torch.tensor([text.example.prompt_ids + text.example.truth_ids[:i]])
            out = pair.slm.model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=256,
                eos_token_id=sorted(pair.eos_ids), pad_token_id=0,
            )  # fmt: skip
            answer = pair.tokenizer.decode(out[0, len(text.example.prompt_ids) :], skip_special_tokens=True)
            checked.append(int(check_answer(answer, text.example.problem).is_correct))
            assert checked[-1] == int(text.label[i])
    assert len(checked) >= n_least and set(checked) == {0, 1}


def test_it_ends_early_when_it_is_cancelled(engine, monkeypatch):
    monkeypatch.setattr("citer_core.evaluation.label_view.CHUNK_EXAMPLES", 2)
    examples = [example_of(row.row, "mc", engine.pair) for row in bundled_rows("mc")[:5]]
    seen = []
    seen.extend(label_texts(engine.pair, [AlwaysSLMRouter()], examples, is_cancelled=lambda: len(seen) >= 2))
    assert len(seen) == 2


# ---------------------------------------------------------------- curves

TOP = float(np.float32(1) - np.float32(2**-24))  # the largest float32 below 1
SCORES = (0.0, 0.1, 0.5, 0.7, float(np.float32(0.7)), 0.999999, TOP, 1.0)


@needs_node
def test_the_pages_curves_are_sklearns(columns):
    """Of the bundled problems, a fifth of the tokens once without a label: they count as if they were not there."""
    label, confidences = columns
    some = np.where(np.arange(len(label)) % 5, label, 2)
    cases = [(c, y, [], []) for c in confidences.values() for y in (label, some)]
    for (confidence, y, *_), *_, curves in in_the_browser(cases):
        score, known = confidence[y != 2], y[y != 2]
        critical = 1 - known
        assert curves["auc"] == pytest.approx(roc_auc_score(known, score))
        assert curves["average_precision"] == pytest.approx(average_precision_score(critical, -score))
        fpr, tpr, _ = roc_curve(critical, -score, drop_intermediate=False)
        points = np.array(curves["roc"])
        assert np.interp(fpr, points[:, 1], points[:, 2]) == pytest.approx(np.interp(fpr, fpr, tpr))
        precision, recall, _ = precision_recall_curve(critical, -score)
        ours = {(round(r, 9), round(p, 9)) for _, r, p in curves["pr"]}
        assert ours <= {(round(r, 9), round(p, 9)) for r, p in zip(recall, precision, strict=True)}
        for wanted, name in ((1, "easy"), (0, "critical")):
            assert curves[name] == np.histogram(score[known == wanted], bins=20, range=(0, 1))[0].tolist()
        tensors = torch.tensor(score), torch.tensor(known)
        tenths = [(mean, share, *wilson_interval(round(share * n), n), n) for mean, share, n in reliability(*tensors)]
        assert np.array(curves["reliability"]) == pytest.approx(np.array(tenths))
        assert curves["ece"] == pytest.approx(expected_calibration_error(*tensors))


def in_the_browser(cases):
    """Cells at each tau, the best tau for each ratio, and the curves, as the page computes them."""
    asked = [
        {
            "confidence": list(map(float, c)),
            "label": list(map(int, y)),
            "taus": list(map(float, taus)),
            "ratios": ratios,
        }
        for c, y, taus, ratios in cases
    ]
    script = f"""
      import {{ confusion, bestThreshold }} from {json.dumps((ASSETS / "labels" / "verdict.js").as_uri())};
      import {{ curvesOf }} from {json.dumps((ASSETS / "labels" / "curves.js").as_uri())};
      let text = "";
      for await (const chunk of process.stdin) text += chunk;
      console.log(JSON.stringify(JSON.parse(text).map(({{ confidence, label, taus, ratios }}) => ({{
        cells: taus.map((tau) => confusion(confidence, label, tau)),
        best: ratios.map((ratio) => bestThreshold(confidence, label, ratio)),
        curves: curvesOf(confidence, label),
      }}))));
    """
    command = ["node", "--no-warnings", "--input-type=module", "--eval", script]
    answer = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=60)
    for case, found in zip(cases, json.loads(answer.stdout), strict=True):
        cells = [Confusion(**cells) for cells in found["cells"]]
        yield case, cells, [BestThreshold(**best) for best in found["best"]], found["curves"]


@needs_node
def test_no_tau_is_better_than_the_one_that_is_suggested():
    """Where confidences touch each other and both ends, every tau that can decide otherwise is tried."""
    rng = np.random.default_rng(1)
    cases = []
    for _ in range(200):
        n = rng.integers(1, 41)
        c = rng.choice(SCORES, n)
        taus = sorted({0.0, 1.0, *c, *np.nextafter(c, 0), *np.nextafter(c, 2).clip(max=1)})
        cases.append((c, rng.integers(0, 2, n), taus, [float(rng.choice([0.5, 1, 3, 10, 100]))]))
    for (c, y, taus, (ratio,)), cells, (best,), _ in in_the_browser(cases):
        assert cells == [confusion(c, y, tau) for tau in taus]
        by_llm = [sum(prefers_llm(float(one), tau) for one in c) for tau in taus]
        assert [one.llm for one in cells] == [one.waste + one.caught for one in cells] == by_llm
        there = confusion(c, y, best.tau)
        assert (best.risk, best.waste, best.cost) == (there.risk, there.waste, ratio * there.risk + there.waste)
        costs = [ratio * one.risk + one.waste for one in cells]
        assert best.cost == min(costs)
        equals = [one for one, cost in zip(cells, costs, strict=True) if cost == best.cost]
        assert there.waste + there.caught == min(one.waste + one.caught for one in equals)


# ---------------------------------------------------------------- branches


@pytest.mark.parametrize(("every", "expected"), few_or_all((6, set()), (2, {True})))
def test_branches_are_what_decoding_from_there_gives(engine, texts, every, expected):
    pair, router, tau = engine.pair, engine.router("citer"), 0.9
    verdicts = set()
    tried = 0
    for text in texts[1][::every]:
        for i in (text.case != 1).nonzero()[:1, 0].tolist():
            tried += 1
            ids = int(text.slm_ids[i]), int(text.llm_ids[i])
            branches = roll_out_branches(pair, router, text.example, i, ids, tau)
            for branch, token_id in zip((branches.slm, branches.llm), ids, strict=True):
                prefix = [*text.example.truth_ids[:i], token_id]
                ended = token_id in pair.eos_ids
                prompt = text.example.prompt_ids + prefix
                events = [] if ended else list(decode(pair, router, prompt, DecodeSettings(tau, max_new_tokens=256)))
                assert list(branch.pieces) == [(event.text, event.source) for event in events]
                completion = pair.tokenizer.decode(prefix + [e.token_id for e in events], skip_special_tokens=True)
                answer = check_answer(completion, text.example.problem)
                assert (branch.answer, branch.is_correct) == (answer.predicted_answer, bool(answer.is_correct))
                assert branch.token == ("" if ended else pair.token_text(token_id))
            verdicts.add(branches.preferred and (branches.preferred == "slm") == bool(text.label[i]))
    assert tried >= 4 // every and verdicts >= expected


def test_a_router_that_looks_at_the_prompt_sees_the_prompt_and_not_the_prefix(engine, texts):
    """Rolled out from a prefix, the first state of the decode loop is not the prompt's last one."""
    pair = engine.pair
    seen = []

    class Looks(AlwaysSLMRouter):
        def confidence(self, features):
            seen.append((features.prompt_hidden.clone(), features.position.clone(), features.sequence_key.clone()))
            return super().confidence(features)

    text = texts[1][0]
    roll_out_branches(pair, Looks(), text.example, 5, (int(text.slm_ids[5]), int(text.llm_ids[5])), 0.5)
    _, hidden = next_token(pair.slm, text.example.prompt_ids)
    torch.testing.assert_close(seen[0][0][0], hidden, atol=1e-4, rtol=1e-4)
    assert seen[0][1].tolist() == [6] and seen[1][1].tolist() == [7]


@needs_node
def test_one_kind_of_label_has_no_curve():
    ((*_, easy),) = in_the_browser([([0.2, 0.9], [1, 1], [], [])])
    assert (easy["auc"], easy["average_precision"], easy["roc"], easy["pr"]) == (None, None, [], [])
