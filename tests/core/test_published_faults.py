"""Each fault of the authors' published code, and the test that would catch it here.

    LLM re-prefilled on every call
        core/test_decoder.py::test_every_way_is_the_rule
        core/test_decoder.py::test_what_ends_a_run_and_what_a_model_reads_for_it
        core/test_batch_decode.py::test_a_row_that_ended_is_fed_nothing_more
    iteration 2 crashes on the rows of iteration 1
        core/test_iterate.py::test_round_2_labels_case_3_anew_under_the_router_of_round_1
        cli/test_label.py::test_later_iterations_label_under_a_routers_card
    math labels of case 3 always 0
        core/test_labels.py::test_only_the_completion_is_searched_for_the_answer
        test_tasks_answers.py::test_the_answer_is_never_read_from_the_prompt
    a missing id crashes
        core/test_published_faults.py::test_rows_without_an_id_are_labelled_and_routed
        test_tasks_datasets.py::test_row_numbers_are_line_numbers_and_rows_without_id_get_one
    finished rows go on, junk is decoded
        core/test_batch_decode.py::test_a_row_that_ended_is_fed_nothing_more
        core/test_models.py::test_batched_completions_are_those_of_single_prompts
    output folder made after the run
        faults/test_disk.py::test_a_folder_that_cannot_be_written
        cli/test_route_dataset.py::test_one_row_is_written_as_each_finishes
    "best" checkpoint is the last
        core/test_router_training.py::test_the_best_epoch_is_kept_and_not_the_last
    prompts of training and use differ
        core/test_labels.py::test_the_truth_is_the_completion_behind_the_prompt_of_inference
        core/test_finetune.py::test_a_row_is_the_prompt_of_inference_and_labels_on_the_completion_and_its_end
    no label for the end of text
        core/test_labels.py::test_every_example_ends_with_a_labelled_end_of_text
    tokens of one question in both splits
        core/test_router_training.py::test_no_question_is_in_both_splits_and_the_seed_fixes_all
    substrings count as answers
        core/test_published_faults.py::test_a_bathhouse_is_no_house
    numbers compared as strings
        test_tasks_answers.py::test_equal_as_mathematics
    decoding defaults of checkpoints
        core/test_published_faults.py::test_a_checkpoints_defaults_change_no_routed_token
        core/test_make_cot.py::test_a_checkpoints_own_decoding_defaults_change_nothing
    caps differ between methods
        core/test_published_faults.py::test_one_limit_for_every_method
        core/test_accuracy.py::test_a_model_alone_is_as_right_as_the_end_of_tau
        core/test_labels.py::test_asking_the_slm_marks_each_question_by_its_own_answer
    one end-of-text id assumed
        core/test_models.py::test_every_end_token_of_both_models_counts
        core/test_decoder.py::test_what_ends_a_run_and_what_a_model_reads_for_it
    a CPU crashes on a CUDA synchronise
        core/test_published_faults.py::test_a_cpu_needs_no_cuda
    a stopped run loses what was finished
        faults/test_killed.py::test_a_batch_run
        core/test_label_files.py::test_a_kill_while_a_part_is_written_leaves_no_part
        core/test_iterate.py::test_a_killed_run_ends_with_the_same_files
        faults/test_killed.py::test_labelling

The table is checked below: it lists every fault once and names only tests that exist.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from pathlib import Path

import torch

from citer_core.cli.decoding_arguments import given_settings
from citer_core.cli.main import build_parser, main
from citer_core.evaluation.accuracy import right_alone
from citer_core.evaluation.run_book import operating_points
from citer_core.labelling.label_files import label_dataset, load_labels
from citer_core.labelling.labels import LabelSettings
from citer_core.labelling.rollouts import MAX_ROLLOUT_TOKENS, Policy
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.routers.training_free import RandomRouter
from citer_core.tasks.answers import check_answer
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import problem_from_row
from citer_core.training.iterate import IterateSettings
from citer_core.types import DecodeSettings
from tests.core.conftest import tiny_llama, tiny_qwen2
from tests.core.examples import random_prompts

TESTS = Path(__file__).resolve().parents[1]
N_FAULTS = 17
FAULT = re.compile(r"^    (\S.*)\n((?:        \S+\.py::\w+\n)+)", re.MULTILINE)
TABLE = {fault: tests.split() for fault, tests in FAULT.findall(__doc__)}


def test_the_table_lists_every_fault_once_and_none_without_a_test():
    assert len(FAULT.findall(__doc__)) == len(TABLE) == N_FAULTS
    assert sum(map(len, TABLE.values())) == __doc__.count("::")


def test_every_test_of_the_table_exists():
    for place in {place for places in TABLE.values() for place in places}:
        file, name = place.split("::")
        assert f"\ndef {name}(" in (TESTS / file).read_text(encoding="utf-8"), place


def test_rows_without_an_id_are_labelled_and_routed(tiny_pair, tmp_path):
    rows = [{k: v for k, v in bundled_rows("math")[n].row.items() if k != "id"} for n in range(2)]
    settings = LabelSettings(Policy.slm_alone(max_new_tokens=2), n_rollouts=1)
    assert list(label_dataset(tiny_pair, [(row, "math") for row in rows], tmp_path / "labels", settings)) == [2]
    assert [row["id"] for row in load_labels(tmp_path / "labels")[2]] == [None, None]
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["route", "--dataset-path", str(path), "--output-file", str(out), "--max-new-tokens", "3"]) == 0
    assert sorted(json.loads(line)["id"] for line in out.read_text().splitlines()) == ["row-1", "row-2"]


def test_a_bathhouse_is_no_house():
    row = {"question": "Where?", "choices": {"label": ["A", "B"], "text": ["house", "park"]}, "answerKey": "A"}
    problem = problem_from_row(row, "mc")
    assert check_answer(" It is warm. Therefore, the answer is house (A).", problem).is_correct
    assert not check_answer(" It is warm. Therefore, the answer is bathhouse.", problem).is_correct


def test_a_checkpoints_defaults_change_no_routed_token(tokenizer):
    """Instruct models ship `do_sample`, a repetition penalty and a top-k of their own."""
    found = []
    for defaults in ({}, {"do_sample": True, "repetition_penalty": 5.0, "top_k": 1, "temperature": 0.3}):
        slm, llm = tiny_qwen2(1), tiny_llama(2)
        for model in (slm, llm):
            model.generation_config.update(**defaults)
        pair = ModelPair.assemble("defaults", slm, llm, tokenizer)
        found += [
            [e.token_id for e in decode(pair, RandomRouter(), [5, 6, 7], settings)]
            for settings in (DecodeSettings(0.5, 15), DecodeSettings(0.5, 15, temperature=0.8, seed=2))
        ]
    assert found[:2] == found[2:] and found[0] != found[1]


def test_one_limit_for_every_method():
    """The same cap for either model alone, routing and rollouts, or the longer one wins."""
    limit = DecodeSettings().max_new_tokens
    assert limit == MAX_ROLLOUT_TOKENS == IterateSettings(1).max_new_tokens == Policy.slm_alone().max_new_tokens
    for function in (right_alone, operating_points):
        assert inspect.signature(function).parameters["max_new_tokens"].default == limit
    subparsers = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    for command in ("label", "iterate", "evaluate"):
        assert subparsers.choices[command].get_default("max_new_tokens") == limit
    asked = build_parser().parse_args(["route", "--question", "1 + 1?", "--threshold", "0.5"])
    assert DecodeSettings(**given_settings(asked)).max_new_tokens == limit, "one of the table, where no flag says more"


def test_a_cpu_needs_no_cuda(tiny_pair, monkeypatch):
    def no_driver(*_, **__):
        raise RuntimeError("Found no NVIDIA driver on your system")

    for name in ("synchronize", "current_stream", "Event"):
        monkeypatch.setattr(torch.cuda, name, no_driver)
    settings, prompts = DecodeSettings(0.5, 6), random_prompts(3)
    one = [[e.token_id for e in decode(tiny_pair, RandomRouter(), prompt, settings)] for prompt in prompts]
    many = {c.index: c.token_ids for c in decode_batch(tiny_pair, RandomRouter(), prompts, settings)}
    assert [many[i] for i in range(3)] == one
