"""Preset cards: recorded runs that play from disk. The cards are drawn here; `page.js` fetches and shows the runs.

Knows the index of `assets/traces` and nothing of engines.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from citer_core.errors import TraceError
from citer_core.recording import PROBES, read_index
from citer_core.tasks.problems import Problem, problem_from_text
from citer_core.tasks.prompts import DataType
from citer_core.ui.markup import literal
from citer_core.ui.pair.offers import preset_of

logger = logging.getLogger(__name__)
MOST_IN_GRID = 8
DATA_TYPE_NAMES = {"math": "Math", "mc": "Multiple choice", "open": "Free text"}


@dataclass(frozen=True, slots=True)
class Preset:
    """One entry of the index: what its card says."""

    file: str
    title: str
    data_type: DataType
    question: str
    true_answer: str | None
    tau: float
    n_tokens: int
    llm_token_share: float
    is_correct: bool | None
    subtitle: str
    pair: str = ""
    date: str = ""
    hardware: str = ""
    is_probed: bool = False


def read_presets(folder: Path) -> list[Preset]:
    """The presets of `folder`'s `index.json`, in its order.

    Raises:
        TraceError: the index is no list of presets.
    """
    return [Preset(**entry) for entry in read_index(folder)]


def presets_to_show(folder: Path) -> list[Preset]:
    """As `read_presets`; none, with a line in the log, where the index is damaged: the page goes without its cards."""
    try:
        return read_presets(folder)
    except TraceError as error:
        logger.warning("%s", error)
        return []


def recorded_problems(presets: list[Preset]) -> list[Problem]:
    """What the recorded runs were asked, with the known answers, so that the same question asked live is judged too."""
    return [problem_from_text(preset.question, preset.data_type, preset.true_answer) for preset in presets]


def preset_cards(presets: list[Preset]) -> gr.HTML:
    """One button per preset, the runs of a pair side by side; each names its file for `page.js`."""
    groups: dict[str, list[Preset]] = {}
    for preset in presets:
        groups.setdefault(preset.pair, []).append(preset)
    return gr.HTML(
        html_template="".join(_group(pair, group, n_groups=len(groups)) for pair, group in groups.items()),
        js_on_load=None,
        apply_default_css=False,
        elem_id="cx-presets",
    )


def _group(pair: str, presets: list[Preset], *, n_groups: int) -> str:
    """A caption, where there are several pairs, and the cards; many of them in a strip that scrolls."""
    dates = sorted({preset.date for preset in presets})
    hardware = sorted({preset.hardware for preset in presets})
    recorded = f"{pair}, recorded {' and '.join(dates)} on {' and '.join(hardware)}"
    caption = f'<p class="cx-presets-caption">{literal(recorded)}</p>' if n_groups > 1 else ""
    strip = " cx-strip" if len(presets) > MOST_IN_GRID else ""
    cards = "".join(map(_card, presets))
    named = f'role="toolbar" aria-label="Recorded runs: {literal(pair)}"'
    return f'{caption}<div class="cx-presets{strip}" {named}>{cards}</div>'


def _card(preset: Preset) -> str:
    verdict = {True: "answer correct", False: "answer wrong", None: ""}[preset.is_correct]
    mark = {True: "✓", False: "✗", None: ""}[preset.is_correct]
    share = round(100 * preset.llm_token_share)
    probe = f' data-probe="{PROBES}/{literal(preset.file)}"' if preset.is_probed else ""
    pair = f' data-pair="{literal(preset.pair)}" data-needs="{literal(preset_of(preset.pair) or "")}"'
    return (
        f'<button type="button" class="cx-preset" data-file="{literal(preset.file)}"{probe}{pair} aria-pressed="false">'
        f'<span class="cx-preset-kind">{literal(DATA_TYPE_NAMES[preset.data_type])}'
        f'<span class="cx-preset-mark" title="{verdict}">{mark}<span class="cx-hidden">{verdict}</span></span></span>'
        f'<span class="cx-preset-title">{literal(preset.title)}</span>'
        f'<span class="cx-preset-subtitle">{literal(preset.subtitle)}</span>'
        f'<span class="cx-preset-share"><span class="cx-preset-bar"><span style="width:{share}%"></span></span>'
        f'<span class="cx-hidden">the LLM writes </span>LLM {share}% · τ {preset.tau:g}</span></button>'
    )
