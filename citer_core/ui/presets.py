"""RecordedRun cards: recorded runs that play from disk. The cards are drawn here; `page.js` fetches and shows the runs.

Knows the index of `assets/traces` and nothing of engines.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from citer_core.models.presets import preset_of
from citer_core.recording import PROBES, RUNS, RecordedRun
from citer_core.tasks.problems import Problem, problem_from_text

# The run that the page opens with: a right answer with a true explanation, routed by the published `citer`, little LLM,
# decisive tokens to be seen, short enough for a phone's first screen. Where it is not there, `opening_of` chooses.
OPENING_RUN = "bakery.json"
DATA_TYPE_NAMES = {"math": "Math", "mc": "Multiple choice", "open": "Free text"}


def read_presets(folder: Path) -> list[RecordedRun]:
    """The presets of `folder`'s `index.json`, in its order.

    Raises:
        TraceError: the index is no list of presets.
    """
    return [RecordedRun(**entry) for entry in RUNS.read(folder)]


def presets_to_show(folder: Path) -> list[RecordedRun]:
    """As `read_presets`; none, with a line in the log, where the index is damaged: the page goes without its cards."""
    return [RecordedRun(**entry) for entry in RUNS.to_show(folder)]


def recorded_problems(presets: list[RecordedRun]) -> list[Problem]:
    """What the recorded runs were asked, with the known answers, so that the same question asked live is judged too."""
    return [problem_from_text(preset.question, preset.data_type, preset.true_answer) for preset in presets]


def recorded_kinds(presets: list[RecordedRun]) -> dict[str, str]:
    """The kind of each recorded question that has one."""
    return {preset.question: preset.kind for preset in presets if preset.kind}


def opening_of(presets: list[RecordedRun]) -> RecordedRun | None:
    """The run that the page opens with: the named one, else the right one with the least LLM, else the first."""
    named = [preset for preset in presets if preset.file == OPENING_RUN]
    routed = [preset for preset in presets if preset.is_correct and 0 < preset.llm_token_share < 1]
    found = named or sorted(routed, key=lambda preset: preset.llm_token_share) or presets
    return found[0] if found else None


def cards_markup(presets: list[RecordedRun]) -> str:
    """One row of buttons, a preset each, the opening one first; each names its file for `page_recorded.js`."""
    opening = opening_of(presets)
    ordered = sorted(presets, key=lambda preset: preset is not opening)
    cards = "".join(map(_card, ordered))
    return (
        (
            f'<div class="cx-shelf"><div class="cx-presets" role="toolbar" aria-label="Recorded runs">{cards}</div>'
            f'<button type="button" class="cx-tool" id="cx-all-presets" aria-expanded="false">All {len(presets)}'
            "</button></div>"
        )
        if presets
        else ""
    )


def _card(preset: RecordedRun) -> str:
    verdict = {True: "answer correct", False: "answer wrong", None: ""}[preset.is_correct]
    mark = {True: "", False: "✗", None: ""}[preset.is_correct]
    share = round(100 * preset.llm_token_share)
    probe = f' data-probe="{PROBES}/{escape(preset.file)}"' if preset.is_probed else ""
    pair = f' data-pair="{escape(preset.pair)}" data-needs="{escape(preset_of(preset.pair) or "")}"'
    pair += f' data-type="{preset.data_type}"' + (" data-takes-back" if preset.n_taken_back else "")
    about = (
        f"{DATA_TYPE_NAMES[preset.data_type]}: {preset.subtitle}. {preset.pair}, τ {preset.tau:.2f}, recorded "
        f"{preset.date} on {preset.hardware}"
    )
    return (
        f'<button type="button" class="cx-preset" data-file="{escape(preset.file)}"{probe}{pair} aria-pressed="false"'
        f' title="{escape(about)}"><span class="cx-preset-title">{escape(preset.title)}</span>'
        f'<span class="cx-preset-share"><span class="cx-hidden">, the LLM writes </span>{share}%</span>'
        f'<span class="cx-preset-mark" aria-hidden="true">{mark}</span>'
        f'<span class="cx-hidden">, {verdict or "not checked"}</span></button>'
    )
