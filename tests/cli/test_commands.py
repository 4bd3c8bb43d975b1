"""Every command: its help, and bad input as one message before anything is loaded."""

from __future__ import annotations

import argparse
import pickle
import shlex

import pytest

from citer_core.cli.command import typed
from citer_core.cli.main import COMMANDS, build_parser, main
from citer_core.cli.train_router import KINDS, LABELS_OF
from citer_core.training.objectives import OBJECTIVES
from tests.cli.examples import write_rows


def options(command):
    subparsers = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return subparsers.choices[command]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_works_and_names_every_default(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0 and capsys.readouterr().out.startswith(f"usage: python -m citer_core {command}")
    parser = options(command)
    formatter = parser._get_formatter()
    for action in parser._actions:
        if not action.option_strings or action.default in (None, False, argparse.SUPPRESS):
            continue
        text = formatter._expand_help(action)
        shown = "(0, 0.1, ..., 1)" if "--thresholds" in action.option_strings else str(action.default)
        assert shown in text, action.option_strings


def test_kinds_on_the_command_line_are_the_objectives():
    assert list(KINDS) == list(OBJECTIVES)
    assert {name: o.labels for name, o in OBJECTIVES.items() if o.labels is not None} == LABELS_OF


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ("record-labels math --router a --router 'b c' --dtype bfloat16", ("rows", "router", "pair", "dtype")),
        ("profile --device cuda --limit 9 --quick --seed 3", ("pair", "device", "limit", "quick", "seed")),
        ("evidence --n-test 20 --seeds 0 3 --shares 0.05 0.123456789", ("n_test", "n_tuning", "seeds", "shares")),
        ("bench", ("what", "threads", "rounds", "pair")),
    ],
)
def test_a_command_that_is_stored_asks_for_the_same(told, names):
    needed = ["--work-dir", "w", "--output-dir", "o"] if told.startswith("evidence") else []
    args = build_parser().parse_args([*shlex.split(told), *needed])
    assert typed(args, *names) == f"python -m citer_core {told}"
    assert typed(args, "pair", always=["pair"], pair="SLM,LLM").endswith(" --pair SLM,LLM")
    assert pickle.loads(pickle.dumps(args)) == args, "evidence hands them to its workers"


# What each of these commands needs to be asked for anything.
BASES = {
    "label": "--dataset-path ROWS --output-dir OUT",
    "iterate": "--dataset-path ROWS --output-dir OUT",
    "train-router": "--labels MISSING --output-dir OUT",
    "evaluate": "--dataset-path ROWS --output-file OUT",
    "load": "--llm-url http://127.0.0.1:9/v1 --output-file OUT",
    "setup-cost": "--dataset-path ROWS --tuning-path ROWS --problems sums --work-dir OUT --output-dir OUT",
}
BAD = [
    ("label", "--batch-size 0", "--batch-size is 0"),
    ("label", "--max-new-tokens 0", "max_new_tokens is 0"),
    ("label", "--shard 3/2", "--shard is '3/2'"),
    ("label", "--shard x", "such as 2/4"),
    ("label", "--rollouts some", 'give "all" or'),
    ("label", "--router-threshold 2", "threshold (tau) is 2.0"),
    ("label", "--iteration 0", "--iteration is 0"),
    ("label", "--both-branches -1", "--both-branches is -1"),
    ("label", "--part-size 0", "--part-size is 0"),
    ("label", "--rollout-share 0.2", "use this with --router"),
    ("label", "--router citer --rollout-share 1", "--rollout-share is 1.0"),
    ("label", "--router citer --rollout-share 0.2 --router-threshold 0.5", "give one of the two"),
    ("label", "--labels outcome --roll-out-case-2", "in any case; leave it out"),
    ("label", "--limit 0", "--limit is 0"),
    ("label", "--data-type mc", "bad row(s)"),
    ("", "label --dataset-path MISSING --output-dir OUT", "cannot be read"),
    ("", "label --dataset-path BARE --output-dir OUT", "make-cot"),
    ("", "label --dataset gsm8k:test --output-dir OUT", "nothing may be trained on it"),
    ("", "label --generated 0 --output-dir OUT", "--generated is 0"),
    ("", "label --generated 2 --limit 1 --output-dir OUT", "--limit: leave it out"),
    ("iterate", "--rounds 0", "--rounds is 0"),
    ("iterate", "--share 1", "--share is 1.0"),
    ("iterate", "--part-size -1", "--part-size is -1"),
    ("iterate", "--labels outcome", "give --labels published"),
    ("iterate", "--kind citer-outcome", "give --labels outcome"),
    ("iterate", "--rollout-share 0", "--rollout-share is 0.0"),
    ("iterate", "--epochs 0", "max_epochs is 0"),
    ("iterate", "--test-limit 0", "--test-limit is 0"),
    ("iterate", "--test-path ROWS", "5 problems that rounds"),
    ("iterate", "--test-path OPEN", "no known answer"),
    ("iterate", "--batch-size -2", "--batch-size is -2"),
    ("train-router", "", "holds no labels"),
    ("train-router", "--share 0", "--share is 0.0"),
    ("train-router", "--epochs 0", "max_epochs is 0"),
    ("train-router", "--batch-size 1", "batch_size is 1"),
    ("train-router", "--name ../up", "plain file name"),
    ("merge-labels", "MISSING --output-dir OUT", "holds no labels"),
    ("evaluate", "--thresholds 0.5 1.5", "--thresholds has 1.5"),
    ("evaluate", "--shares 0.5", "--shares needs --tuning-path"),
    ("evaluate", "--points citer=x", "is no router with its settings"),
    ("evaluate", "--points citer=2", "threshold (tau) is 2.0"),
    ("evaluate", "--points citer=1 --routers citer", "leave out --routers"),
    ("evaluate", "--batch-size 0", "--batch-size is 0"),
    ("evaluate", "--max-new-tokens 0", "max_new_tokens is 0"),
    ("", "evaluate --dataset-path OPEN --output-file OUT", "row 1 has no known answer"),
    ("", "evaluate --dataset-path MISSING --output-file OUT", "cannot be read"),
    ("evaluate", "--shares 0.5 --tuning-path ROWS", "5 problems are in the data set and in --tuning-path"),
    ("evaluate", "--routers a/own.json b/own.safetensors", 'has "own" twice'),
    ("setup-cost", "--labels citer=MISSING --share 0", "--share is 0.0"),
    ("setup-cost", "--labels citer=MISSING --batch-size 0", "--batch-size is 0"),
    ("setup-cost", "--labels citer", "as in citer=labels"),
    ("setup-cost", f"--labels citer=MISSING --problems {'x' * 61}", "--problems has 61 characters: give 1 to 60"),
    ("setup-cost", f"--labels citer={'x' * 500}", "too long to be told with the result"),
    ("bench", "--rounds 0", "--rounds is 0"),
    ("bench", "--shots -1", "--shots is -1"),
    ("", "load --output-file OUT", "give --llm-url"),
    ("load", "--seconds 0", "above 0"),
    ("load", "--rounds 0", "whole number from 1"),
    ("load", "--users 0", "users is 0"),
    ("load", "--llm-share 0", "llm-share is 0"),
    ("load", "--profile MISSING", "as a profile"),
    ("route", "--question 1+1? --budget 2", "--budget is 2.0"),
    ("route", "--question 1+1? --budget 0.2 --threshold 0.5", "give one of the two"),
    ("route", "--dataset-path ROWS --output-file OUT --batch-size 0", "--batch-size is 0"),
]


@pytest.mark.parametrize(("command", "words", "part"), BAD)
def test_bad_input_is_one_message_before_anything_is_loaded(no_loading, data, tmp_path, capsys, command, words, part):
    bare = write_rows(tmp_path / "bare.jsonl", [{"problem": "1+1?"}])
    places = {"ROWS": data, "OUT": tmp_path / "out", "MISSING": tmp_path / "missing", "BARE": bare, "OPEN": bare}
    arguments = f"{command} {BASES.get(command, '')} {words}".split()
    assert main([str(places.get(argument, argument)) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and part in err
    assert not (tmp_path / "out").exists()
