"""Whose text is labelled, against texts of transformers' `generate` and a search written from its rule alone."""

from __future__ import annotations

import pytest

from citer_core.errors import DatasetError
from citer_core.labelling import rollouts, truth
from citer_core.labelling.label_files import label_dataset, load_labels
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import LabelSettings
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.truth import examples_of
from citer_core.trace import AnswerInfo
from tests.core.examples import generated
from tests.sampling import sampled

LIMIT = 8
POLICY = Policy.slm_alone(max_new_tokens=LIMIT, batch_size=4)
UNANSWERED = [({"id": f"u{i}", "problem": f"What is {i} times {i}?"}, "math") for i in range(6)]


def coin(text):
    """What a text of random models comes to: one of two answers."""
    return str(sum(map(ord, text)) % 2)


@pytest.fixture(autouse=True)
def _a_coin_reads_the_answers(monkeypatch):
    monkeypatch.setattr(truth, "extract_answer", lambda text, problem: coin(text))
    monkeypatch.setattr(
        rollouts,
        "check_answer",
        lambda text, problem: AnswerInfo(problem.true_answer, coin(text), coin(text) == problem.true_answer),
    )


def text_of(pair, ids):
    return pair.tokenizer.decode(ids, skip_special_tokens=True)


def searched(pair, prompt):
    """The LLM's text; then, one after the other, each SLM token put in that leaves its answer what it was."""
    ids, place = generated(pair.llm, prompt, LIMIT), 0
    answer = coin(text_of(pair, ids))
    while place < len(ids):
        (token,) = generated(pair.slm, prompt + ids[:place], 1)
        if token != ids[place]:
            other = [*ids[:place], token]
            if token not in pair.eos_ids:
                other += generated(pair.llm, prompt + other, LIMIT - len(other)) if len(other) < LIMIT else []
            ids = other if coin(text_of(pair, other)) == answer else ids
        place += 1
    return ids


def test_the_llm_answers_itself_where_no_answer_is_known(tiny_pair):
    examples = examples_of(tiny_pair, UNANSWERED, "llm", POLICY)
    for example, (row, _) in zip(examples, UNANSWERED, strict=True):
        expected = generated(tiny_pair.llm, tiny_pair.encode(example.problem.prompt), LIMIT)
        assert example.truth_ids == expected and example.problem.id == row["id"]
        assert example.problem.true_answer == coin(text_of(tiny_pair, expected))


def test_the_search_keeps_each_slm_token_that_keeps_the_answer(tiny_pair):
    walked = examples_of(tiny_pair, UNANSWERED, "walk", POLICY)
    plain = examples_of(tiny_pair, UNANSWERED, "llm", POLICY)
    assert [example.truth_ids for example in walked] == [searched(tiny_pair, example.prompt_ids) for example in plain]
    assert all(a.problem == b.problem for a, b in zip(walked, plain, strict=True))
    assert sum(a.truth_ids != b.truth_ids for a, b in zip(walked, plain, strict=True)) >= 3


def test_a_text_that_comes_to_nothing_stays_the_llms(tiny_pair, monkeypatch):
    monkeypatch.setattr(truth, "extract_answer", lambda text, problem: None)
    plain, walked = (examples_of(tiny_pair, UNANSWERED, mode, POLICY) for mode in ("llm", "walk"))
    assert walked == plain and plain[0].problem.true_answer is None


@pytest.mark.parametrize("mode", sampled(["walk", "llm"], 2))
def test_labels_of_these_texts_are_cases_1_and_2_and_say_whose_they_are(tiny_pair, tmp_path, mode):
    settings = LabelSettings(POLICY, truth=mode)
    assert list(label_dataset(tiny_pair, UNANSWERED, tmp_path / "labels", settings, part_size=4)) == [4, 6]
    header, labels, _ = load_labels(tmp_path / "labels")
    assert header.truth == mode and LabelHeader.read(tmp_path / "labels").truth == mode
    assert '"schema_version": 4' in (tmp_path / "labels" / "labels.json").read_text()
    assert (labels.case != 3).all() and (labels.label == (labels.case == 1)).all()
    with pytest.raises(DatasetError, match="truth"):
        list(label_dataset(tiny_pair, UNANSWERED, tmp_path / "labels", LabelSettings(POLICY), part_size=4))


def test_labels_by_outcome_of_the_llms_text(tiny_pair, tmp_path):
    """Its own token always leads to its own answer; the SLM's is what has to be tried."""
    settings = LabelSettings(Policy.llm_alone(max_new_tokens=40), labels="outcome", truth="llm")
    list(label_dataset(tiny_pair, UNANSWERED[:3], tmp_path / "labels", settings))
    _, labels, _ = load_labels(tmp_path / "labels")
    at = labels.is_tried
    assert at.any() and (labels.label[at] == labels.slm_branch[at]).all()


def test_a_question_without_room_is_refused(tiny_pair):
    long = [({"problem": "word " * 3000}, "math")]
    with pytest.raises(DatasetError, match="Leave it out or shorten it"):
        examples_of(tiny_pair, long, "llm", POLICY)
