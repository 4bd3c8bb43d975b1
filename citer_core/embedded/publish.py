"""Makes what ships from what was trained: checkpoints, problem sets, the card of the pair.

Every step is one function with one command (`python -m citer_core embedded ...`) and writes into `assets/`.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch.distributions import Categorical
from transformers import PreTrainedModel

from citer_core.assets import ASSETS
from citer_core.embedded import multiple_choice
from citer_core.embedded.corpus import FROZEN, Row, held_out_rows
from citer_core.embedded.names import publish_model_hashes
from citer_core.embedded.pretrain import (
    IGNORED,
    RECIPES,
    build_model,
    collate,
    encode_text,
    load_weights,
    pretrain,
    tokenizer_for,
)
from citer_core.errors import SettingError
from citer_core.evaluation.accuracy import Accuracy, right_alone
from citer_core.hardware import hardware_in_words
from citer_core.models.hashes import FILES, bundled_files, sums_of
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair, load_pair
from citer_core.tasks.problems import Problem, problem_from_row
from citer_core.tasks.prompts import PROMPT_VERSION, DataType, row_completion, row_prompt

log = logging.getLogger(__name__)
FORMATS: tuple[DataType, ...] = ("math", "mc")
N_BUNDLED, N_CARD = 200, 1000
TESTED = ASSETS / "models" / "tested.txt"  # ids: to draw the problems themselves takes ten seconds
CHOICE_NATS = 0.3
# A commit that ships the edition before this one, and its weights' SHA-256.
BEFORE_COMMIT = "9336ea6"
BEFORE = {
    "slm": "b47f93aaac543d5f8b2c18b1542e68006759f9bbb0b92e6ac75be0731185a3ff",
    "llm": "9593cd7efd67d6b782943737f7f35120575eefb4120d3c27d533cacddd951f97",
}


def held_out(data_type: DataType, name: str, n: int, without: Collection[str] = ()) -> list[Row]:
    """The first `n` rows of a held-out stream whose ids are not in `without`."""
    return [dict(row) for row in islice((row for row in _stream(data_type, name) if row["id"] not in without), n)]


@cache
def tested() -> frozenset[str]:
    """The ids of the `N_CARD` problems of each format that everything is tested on."""
    return frozenset(TESTED.read_text(encoding="utf-8").split())


class _DrawnRows:
    """A held-out stream, drawn once: a row takes some thirty tries, and training skips what is tested on.

    Not for two threads at once.
    """

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._drawn: list[Row] = []

    def __iter__(self) -> Iterator[Row]:
        for i in count():
            while len(self._drawn) <= i:
                self._drawn.append(next(self._rows))
            yield self._drawn[i]


@cache
def _stream(data_type: DataType, name: str) -> _DrawnRows:
    return _DrawnRows(held_out_rows(data_type, name))


def problems_of(rows: Sequence[Row], data_type: DataType) -> list[Problem]:
    """Rows as problems."""
    return [problem_from_row(row, data_type) for row in rows]


def publish_model(which: str, work_dir: Path, assets: Path = ASSETS) -> None:
    """Trains (or finishes) one model and writes it as a bfloat16 checkpoint into `models/`."""
    tokenizer = tokenizer_for(assets / "models" / "tokenizer")
    recipe, shipped = RECIPES[which], assets / "models" / which
    weights = edition_before(which, work_dir, shipped) if recipe.starts_from_before else None
    trained: list[Path] = []
    for folder, stage in zip(stage_folders(which, work_dir), recipe.stages(), strict=True):
        model = pretrain(stage, tokenizer, folder, first_weights=trained[-1] if trained else weights)
        trained.append(folder / "trained.safetensors")
        save_file({k: v for k, v in model.state_dict().items() if k != "lm_head.weight"}, trained[-1])
    averaged = [load_file(path) for path in trained[-recipe.mean_of :]]
    model = build_model(recipe, tokenizer)
    load_weights(model, {k: torch.stack([w[k] for w in averaged]).mean(0) for k in averaged[0]})
    save_checkpoint(model, shipped)
    publish_model_hashes(assets)


def stage_folders(which: str, work_dir: Path) -> list[Path]:
    """Where each stage of a model's training keeps its checkpoints."""
    return [work_dir / f"{which}-{k}" for k in range(1, len(RECIPES[which].stages()) + 1)]


def edition_before(which: str, work_dir: Path, shipped: Path) -> Path:
    """The weights of one model that training starts from, kept beside the checkpoints because what ships is replaced.

    Raises:
        SettingError: neither the work folder nor `shipped` has them.
    """
    path = work_dir / f"{which}-before.safetensors"
    for source in (path, shipped / "model.safetensors"):
        if source.exists() and hashlib.sha256(source.read_bytes()).hexdigest() == BEFORE[which]:
            work_dir.mkdir(parents=True, exist_ok=True)
            if source != path:
                shutil.copyfile(source, path)
            return path
    raise SettingError(
        f"This edition starts from the weights of the one before, which are not in {path}. Get them from this "
        f"project's history: `git show {BEFORE_COMMIT}:assets/models/{which}/model.safetensors > {path}`."
    )


def save_checkpoint(model: PreTrainedModel, folder: Path) -> None:
    """Writes the model in bfloat16: half the file, and the rounding is far below what training left open."""
    model.to(torch.bfloat16).save_pretrained(folder)


def publish_problems(assets: Path = ASSETS) -> None:
    """Writes the bundled held-out problems in the official formats, and the ids of all that are tested on."""
    ids = [row["id"] for data_type in FORMATS for row in held_out(data_type, "test", N_CARD)]
    (assets / TESTED.relative_to(ASSETS)).write_text("".join(f"{one}\n" for one in ids), encoding="utf-8")
    for data_type in FORMATS:
        path = assets / "datasets" / f"{data_type}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = held_out(data_type, "test", N_BUNDLED)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@torch.inference_mode()
def wording_statistics(pair: ModelPair, data_type: DataType, n_rows: int) -> dict[str, Any]:
    """How the two models stand to the test problems' own text: shares of the cases, and of the choice points.

    A choice point is a token of the text before which the LLM's next-token entropy is over `CHOICE_NATS`.
    """
    tokenizer = tokenizer_for(ASSETS / "models" / "tokenizer")
    texts = (
        (row_prompt(row, data_type), row_completion(row, data_type)) for row in held_out(data_type, "test", n_rows)
    )
    n_of_case, n_choices, n_tokens = [0, 0, 0], 0, 0
    for inputs, targets in collate(encode_text(*text, tokenizer) for text in texts):
        at = targets != IGNORED
        slm, llm = (lm.model(input_ids=inputs, use_cache=False).logits[at].float() for lm in (pair.slm, pair.local_llm))
        slm_right, llm_right = (logits.argmax(-1) == targets[at] for logits in (slm, llm))
        for i, case in enumerate((slm_right, ~slm_right & llm_right, ~slm_right & ~llm_right)):
            n_of_case[i] += int(case.sum())
        n_choices += int((Categorical(logits=llm).entropy() > CHOICE_NATS).sum())
        n_tokens += int(at.sum())
    cases = {str(i + 1): round(n / n_tokens, 4) for i, n in enumerate(n_of_case)}
    return {"n_problems": n_rows, "n_tokens": n_tokens, "cases": cases, "choice_points": round(n_choices / n_tokens, 4)}


def read_typed(data_type: DataType, assets: Path = ASSETS) -> list[Row]:
    """Problems as people type them, most of them in words that the generator does not have; `what` says how they differ
    from its own.
    """
    text = (assets / "datasets" / f"typed-{data_type}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _accuracy(
    lm: LanguageModel, pair: ModelPair, rows: Sequence[Row], data_type: DataType, part: str
) -> dict[str, Any]:
    """The accuracy of one model alone, and that of each `part` of the rows where they have that field."""
    right = right_alone(lm, pair, problems_of(rows, data_type))
    parts: dict[str, list[bool]] = defaultdict(list)
    for row, is_right in zip(rows, right, strict=True):
        if part in row:
            parts[row[part]].append(is_right)
    by_part = {name: Accuracy.of(found).to_dict() for name, found in sorted(parts.items())}
    return Accuracy.of(right).to_dict() | ({f"by_{part}": by_part} if by_part else {})


def publish_pair_card(work_dir: Path, assets: Path = ASSETS) -> dict[str, Any]:
    """Measures both models alone on unseen problems of each format and writes `models/card.json`."""
    pair = load_pair()
    card: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
        "command": "python -m citer_core embedded card",
        "pair_revision": pair.info.revision,
        "prompt_version": PROMPT_VERSION,
        "n_facts": multiple_choice.n_facts(),
        "generator": FROZEN,
        FILES: sums_of(assets / "models", bundled_files(assets / "models")),
        "wording": {data_type: wording_statistics(pair, data_type, N_CARD) for data_type in FORMATS},
        "models": {},
    }
    for which, lm, spec in (("slm", pair.slm, pair.info.slm), ("llm", pair.local_llm, pair.info.llm)):
        states = [json.loads((folder / "state.json").read_text()) for folder in stage_folders(which, work_dir)]
        card["models"][which] = {
            "n_params": spec.n_params,
            "n_layers": spec.n_layers,
            "hidden_size": spec.hidden_size,
            "training_tokens": sum(state["tokens"] for state in states),
            "training_steps": sum(state["step"] for state in states),
            "accuracy": {
                data_type: _accuracy(lm, pair, held_out(data_type, "test", N_CARD), data_type, "kind")
                for data_type in FORMATS
            },
            "typed": {
                data_type: _accuracy(lm, pair, read_typed(data_type, assets), data_type, "what")
                for data_type in FORMATS
            },
        }
        log.info("%s %s", which, card["models"][which]["accuracy"])
    (assets / "models" / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card
