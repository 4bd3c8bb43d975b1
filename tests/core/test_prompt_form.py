"""Chat templates: the ids that models read, where the answer begins and ends, and that two forms are never mixed."""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil

import pytest
from tokenizers.processors import TemplateProcessing

from citer_core.assets import ASSETS
from citer_core.engine import Engine, Origin, trace_of
from citer_core.errors import DatasetError, PairError, RouterError
from citer_core.labelling.label_files import label_dataset, load_labels
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import LabelSettings
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.teacher_forcing import example_of
from citer_core.models.pair import ModelPair
from citer_core.models.prompt_form import PromptForm
from citer_core.routing.catalog import load_router
from citer_core.routing.probe import probe_trace
from citer_core.routing.routers import training_free_routers
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.tasks.problems import problem_from_row, problem_from_text
from citer_core.tasks.prompts import row_completion
from citer_core.trace import RoutingTrace
from citer_core.training.finetune import encode_row
from citer_core.types import DecodeSettings
from tests.core.conftest import tiny_llama, tiny_qwen2
from tests.core.examples import ROWS

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</{{ m['role'] }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def chat_tokenizer(tokenizer):
    changed = copy.deepcopy(tokenizer)
    changed.chat_template = TEMPLATE
    return changed


@pytest.fixture(scope="module")
def chat_pair(chat_tokenizer):
    llm = tiny_llama(2)
    llm.generation_config.eos_token_id = [0, 7]
    return ModelPair.assemble("tiny", tiny_qwen2(1), llm, chat_tokenizer)


def test_the_template_is_applied_where_there_is_one_and_can_be_switched_off(tiny_pair, chat_pair, chat_tokenizer):
    assert (tiny_pair.prompt_form.chat, tiny_pair.info.prompt_form) == (False, "plain")
    assert chat_pair.prompt_form.chat and chat_pair.info.prompt_form.startswith("chat-")
    off = ModelPair.assemble("tiny", tiny_qwen2(1), tiny_llama(2), chat_tokenizer, chat=False)
    assert (off.prompt_form.chat, off.encode("Two?")) == (False, tiny_pair.encode("Two?"))
    with pytest.raises(PairError, match="has no chat template"):
        PromptForm.of(tiny_pair.tokenizer, chat=True)


def test_a_prompt_is_a_persons_turn_up_to_where_the_answer_begins(chat_pair):
    text = "<user>Two?</user><assistant>"
    assert chat_pair.prompt_form.text("Two?") == text
    assert chat_pair.encode("Two?") == chat_pair.tokenizer(text, add_special_tokens=False)["input_ids"]


def test_a_template_that_spells_out_the_first_token_gets_it_once(tokenizer):
    """As Llama's does, whose tokenizer would also put one in front."""
    end = tokenizer.eos_token
    changed = copy.deepcopy(tokenizer)
    changed.chat_template = end + TEMPLATE
    assert PromptForm.of(changed).encode("a").count(tokenizer.eos_token_id) == 1


def test_the_name_follows_the_template(chat_tokenizer):
    other = copy.deepcopy(chat_tokenizer)
    other.chat_template = TEMPLATE + " "
    assert PromptForm.of(chat_tokenizer).name != PromptForm.of(other).name


def test_the_known_answer_follows_the_template_exactly(chat_pair, tiny_pair):
    """No space between the turn's mark and the answer, in labels and in fine-tuning alike; and the turn's own end."""
    row, kind = ROWS[0]
    example = example_of(row, kind, chat_pair)
    completion = row_completion(row, kind)
    together = chat_pair.prompt_form.text(problem_from_row(row, kind).prompt) + completion.lstrip()
    ids = example.prompt_ids + example.truth_ids
    assert chat_pair.tokenizer.decode(ids[:-1]) == together
    assert ids[-1] == chat_pair.tokenizer.eos_token_id == chat_pair.end_id
    tuned = encode_row(example.problem.prompt, completion, chat_pair.prompt_form, chat_pair.end_id)
    assert tuned["input_ids"] == ids
    plain = example_of(row, kind, tiny_pair)
    assert tiny_pair.tokenizer.decode(plain.truth_ids[:-1]) == completion


def test_an_instruct_model_ends_its_turn_with_its_own_token(chat_tokenizer):
    """Qwen's tokenizer names <|im_end|>; the other end-of-text id, which is smaller, ends a document."""
    other = copy.deepcopy(chat_tokenizer)
    other.eos_token = other.convert_ids_to_tokens(7)
    assert PromptForm.of(other).end_id({3, 7}) == 7
    assert PromptForm.of(other, chat=False).end_id({3, 7}) == 3


def test_a_trace_says_what_the_models_read_and_old_traces_still_load(chat_pair):
    problem = problem_from_row(*ROWS[0])
    router = next(iter(training_free_routers().values()))
    trace = trace_of(Origin.of(chat_pair, router, problem), problem, DecodeSettings(), 5, [], None)
    assert trace.prompt.text == chat_pair.prompt_form.text(problem.prompt)
    assert RoutingTrace.from_json(trace.to_json()).pair.prompt_form == chat_pair.info.prompt_form
    old = trace.to_dict()
    del old["pair"]["prompt_form"]
    for which in ("slm", "llm"):
        del old["pair"][which]["block_bits"]
    assert RoutingTrace.from_dict(json.loads(json.dumps(old))).pair.prompt_form == "plain"


def test_labels_of_another_form_are_refused_and_old_headers_still_load(tiny_pair, tmp_path):
    settings = LabelSettings(Policy.slm_alone(max_new_tokens=2), n_rollouts=0)
    folder = tmp_path / "labels"
    assert list(label_dataset(tiny_pair, ROWS[:2], folder, settings)) == [2]
    path = folder / "labels.json"
    header = json.loads(path.read_text())
    assert header.pop("prompt_form") == "plain"
    path.write_text(json.dumps(header))
    assert LabelHeader.read(folder).prompt_form == "plain"
    other = dataclasses.replace(tiny_pair, info=dataclasses.replace(tiny_pair.info, prompt_form="chat-12345678"))
    with pytest.raises(DatasetError, match=r"made with prompt_form = plain, but now it is chat-12345678"):
        list(label_dataset(other, ROWS[:2], folder, settings))
    with pytest.raises(DatasetError, match=r"in the form plain, but this pair's are chat-12345678"):
        load_labels(folder, other.info)


def test_a_router_of_another_form_is_refused(tmp_path):
    from citer_core.models.pair import load_pair

    for suffix in ("json", "safetensors"):
        shutil.copy(ASSETS / "routers" / "embedded" / f"citer.{suffix}", tmp_path)
    card = tmp_path / "citer.json"
    pair = load_pair()
    assert load_router(card, pair).name == "citer"
    card.write_text(json.dumps(json.loads(card.read_text()) | {"prompt_form": "chat-12345678"}))
    with pytest.raises(RouterError, match=r"in the form chat-12345678, but this pair's are plain"):
        load_router(card, pair)


def test_a_prompt_in_a_chat_is_read_as_the_run_read_it(chat_pair):
    """The trace holds the prompt with its template: applying that again would read another text."""
    engine = Engine(chat_pair, {"max-probability": MaxProbabilityRouter()})
    run = engine.start(
        problem_from_text("1 + 1?", "math", "2"), settings=DecodeSettings(threshold=0.5, max_new_tokens=6)
    )
    events = list(run)
    found = probe_trace(chat_pair, run.trace())
    assert [token.slm_top[0].token_id for token in found] == [event.slm_top[0].token_id for event in events]


UNUSABLE = {
    "wants a system message": "{% if messages[0].role != 'system' %}{{ raise_exception('A system turn') }}{% endif %}",
    "syntax": "{% for m in messages %}{{ m['content'] }",
    "several": {"rag": TEMPLATE, "tool_use": TEMPLATE},
    "without the prompt": "<user></user>",
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_template_that_cannot_be_used_is_refused_when_the_pair_is_loaded(tokenizer, name):
    """It was a traceback at the first run; of a template that wants parts, the prompt was lost without a word."""
    changed = copy.deepcopy(tokenizer)
    changed.chat_template = UNUSABLE[name]
    with pytest.raises(PairError, match=r"chat template cannot be used .*--no-chat"):
        PromptForm.of(changed)
    assert PromptForm.of(changed, chat=False).text("2 + 2?") == "2 + 2?"


def test_a_template_may_want_its_turn_in_parts_and_todays_date_is_always_the_same(tokenizer):
    changed = copy.deepcopy(tokenizer)
    changed.chat_template = (
        "{% for m in messages %}{% for c in m['content'] %}<{{ c['text'] }}>{% endfor %}{% endfor %}"
    )
    assert PromptForm.of(changed).text("2 + 2?") == "<2 + 2?>"
    changed.chat_template = "Today Date: {{ strftime_now('%d %b %Y') }}\n{{ messages[0]['content'] }}"
    form = PromptForm.of(changed)
    assert form.text("2 + 2?") == "Today Date: 26 Jul 2024\n2 + 2?"
    assert form.name.endswith("-2024-07-26"), "labels, cards and traces say which date"


def test_a_plain_prompt_does_not_end_with_the_end_of_text_that_some_tokenizers_append(tokenizer):
    changed = copy.deepcopy(tokenizer)
    end = changed.eos_token
    changed.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{end} $A {end}", special_tokens=[(end, changed.eos_token_id)]
    )
    plain = tokenizer("2 + 2?", add_special_tokens=False)["input_ids"]
    assert PromptForm.of(changed).encode("2 + 2?") == [changed.eos_token_id, *plain]
