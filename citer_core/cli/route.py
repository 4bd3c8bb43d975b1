"""`route`: asks one question and streams the routed answer, or runs a data set (`route_dataset`).

Everything that can be wrong with the input is found before a model is loaded.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.command import command, flag_of, given, group, one_of, option, switch
from citer_core.cli.dataset_arguments import DATASET, DATASET_PATH, batch_size, limit, split_arguments
from citer_core.cli.decoding_arguments import BUDGET, SETTING_FLAGS, asked_settings, settings_for, warn_if_far
from citer_core.cli.model_arguments import MODELS, ROUTER, SERVER, llm_server, load_engine, router_name
from citer_core.cli.terminal import TokenPrinter, escape_controls, format_bytes, say
from citer_core.cost import H100_SXM
from citer_core.errors import CiterError, MachineError, PromptError, SettingError
from citer_core.files import rescue, why
from citer_core.tasks.problems import MAX_PROMPT_CHARS, Problem, problem_from_text
from citer_core.tasks.prompts import DATA_TYPES
from citer_core.types import when_settled

if TYPE_CHECKING:
    from citer_core.trace import AnswerInfo, RoutingTrace
    from citer_core.types import FinishReason

_ENDINGS: dict[FinishReason, str] = {
    "length": "stopped at the token limit",
    "cancelled": "cancelled",
    "error": "stopped by an error",
}


@command(
    "route",
    "answer a question, or a data set, with both models",
    "Answers with token-level routing.",
    one_of(
        option("--question TEXT", 'the question; "-" reads it from standard input'),
        DATASET_PATH,
        DATASET,
        required=True,
    ),
    option("--data-type", "open: no template (math; --dataset knows its own)", choices=DATA_TYPES),
    group("decoding", *SETTING_FLAGS, BUDGET, ROUTER),
    MODELS,
    SERVER,
    group(
        "one question",
        option("--answer TEXT", "the true answer, to be told whether the models found it"),
        switch("--json", "print the whole trace as one JSON document, and only that"),
        option("--color", default="auto", choices=("auto", "always", "never")),
    ),
    group(
        "a data set",
        *split_arguments("test"),
        option("--output-file OUT", "JSON Lines; the same command resumes it", type=Path),
        limit(),
        batch_size("problems at once", 16),
        switch("--with-trace", "put each row's whole trace into the output"),
        switch("--skip-bad-rows", "report malformed rows and go on without them"),
    ),
    epilog=r"""tau is the threshold: the LLM writes a token when the router's confidence in the SLM is below it, so 0
leaves all tokens to the SLM and 1 hands all of them to the LLM.

examples:
  python -m citer_core route --question "Tom has 3 boxes of 14 pens. How many pens?" --threshold 0.7
  python -m citer_core route --question "Once" --data-type open --settings '{"temperature": 0.8, "seed": 3}'
  printf 'What is the capital of France?\nA. Paris\nB. Lyon\n' | python -m citer_core route --question - --data-type mc
  python -m citer_core route --dataset-path assets/datasets/math.jsonl --data-type math --output-file out.jsonl
  python -m citer_core route --dataset gsm8k --split test --output-file out.jsonl
""",
)
def route(args: argparse.Namespace) -> None:
    """Answers the question or runs the data set.

    Raises:
        CiterError: wrong input; nothing was loaded then.
    """
    asked_settings(args)
    _refuse_misplaced(args)
    llm_server(args)
    if args.question is None:
        from citer_core.cli.route_dataset import run_dataset

        run_dataset(args)
        return
    text = _read_question() if args.question == "-" else args.question
    _run_question(args, problem_from_text(text, args.data_type or "math", args.answer))


def _read_question() -> str:
    # One character more than is allowed is enough to refuse a pipe that never ends.
    try:
        return sys.stdin.read(MAX_PROMPT_CHARS + 1)
    except UnicodeDecodeError as error:
        raise PromptError(f"Standard input is not text in {error.encoding}: give UTF-8.") from error


def _refuse_misplaced(args: argparse.Namespace) -> None:
    """An argument that would be ignored is a misunderstanding; say so instead."""
    if args.question is not None:
        where = "with --dataset-path or --dataset, not with --question"
        misplaced = given(args, "split", "output_file", "limit", "with_trace", "skip_bad_rows")
    else:
        where = "with --question, not with a data set (--with-trace puts traces into the output file)"
        misplaced = given(args, "answer", "json")
    if misplaced:
        raise SettingError(f"{', '.join(map(flag_of, misplaced))}: use this {where}.")


def _run_question(args: argparse.Namespace, problem: Problem) -> None:
    engine = load_engine(args, args.router)
    routed = engine.start(problem, router=router_name(args.router), settings=settings_for(args, engine, [problem]))
    printer = None if args.json else TokenPrinter(sys.stdout, args.color)
    if printer and (legend := printer.legend()):
        print(legend)
    lost: CiterError | None = None  # what was written until then is shown all the same
    try:
        for event in when_settled(routed, routed.settings):
            if printer:
                printer.write(event)
    except CiterError as error:
        lost = error
    trace = routed.trace()
    if lost is None or trace.events:
        if printer:
            print(flush=True)
            say(_summary(trace))
        else:
            _print_trace(trace)
        warn_if_far(args.budget, trace.llm_token_share)
    if lost:
        raise lost
    if printer and not printer.shows_source:
        say("(plain text: --color always or --json shows which model wrote which token)")


def _print_trace(trace: RoutingTrace) -> None:
    """The trace on standard output, or, where that is a file on a full disk, in another place."""
    document = trace.to_json().encode() + b"\n"
    try:
        # Bytes, because JSON is UTF-8 whatever the terminal's encoding is.
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        kept = rescue("trace.json", document)
        where = f"The trace is kept in {kept}." if kept else "It could not be kept anywhere else either."
        raise MachineError(f"The trace could not be written to standard output ({why(error)}). {where}") from error


def _summary(trace: RoutingTrace) -> str:
    """What one finished run cost and whether it was right."""
    cost = trace.cost(H100_SXM)  # only bytes and FLOPs are read here; the device decides neither
    parts = [
        f"{trace.n_tokens} tokens, {trace.llm_token_share:.1%} by the LLM ({trace.n_hand_offs} hand-offs)",
        f"{format_bytes(cost.routed.n_bytes)} moved (estimated), {cost.bytes_share_of_llm_only:.1%} of LLM-only",
    ]
    if trace.settings.take_back:
        parts.append(f"{trace.n_looks} looks took back {trace.n_discarded} tokens")
    if trace.measured_s > 0:
        parts.append(
            f"{trace.measured_s:.2f} s in the models (measured), {trace.n_tokens / trace.measured_s:.0f} tokens/s"
        )
    if trace.finish_reason in _ENDINGS:
        parts.append(_ENDINGS[trace.finish_reason])
    if trace.answer is not None:
        parts.extend(_verdict(trace.answer))
    return " | ".join(parts)


def _verdict(answer: AnswerInfo) -> list[str]:
    given = "no answer" if answer.predicted_answer is None else f"answer {escape_controls(answer.predicted_answer)}"
    if answer.is_correct is None:
        return [] if answer.predicted_answer is None else [given]
    right = escape_controls(answer.true_answer or "")
    return [f"{given}: right" if answer.is_correct else f"{given}: wrong, {right} is right"]
