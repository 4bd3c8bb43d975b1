"""`RunForm`: the controls that say what a run is asked with, and how they become one object keyed by name and back.

The order of the controls is known here alone: what leaves the browser is the JSON text that `asked.read_asked` takes.
A setting's control is made of its row in the table. Called by `controls`, which places it, and `page`, which wires it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from citer_core.decode_settings import SETTINGS
from citer_core.gate.fields import Whole

SettingControl = gr.Slider | gr.Number


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForm:
    """The controls; `settings` has one for every setting of decoding, by its name."""

    question: gr.Textbox
    data_type: gr.Radio
    router: gr.Dropdown
    settings: Mapping[str, SettingControl]

    @property
    def inputs(self) -> list[Component]:
        """All of them, in the order of the two scripts."""
        return [self.question, self.data_type, self.router, *self.settings.values()]

    @property
    def read_script(self) -> str:
        """JavaScript: hands the values of `inputs` to the page, which has a browser or the server write the run."""
        return f"""(question, data_type, router, ...values) => {{
            const named = {self._names}.map((name, i) => [name, values[i]]);
            const asked = {{ question, data_type, router, settings: Object.fromEntries(named) }};
            window.citer?.branches.generate(asked);
        }}"""

    @property
    def fill_script(self) -> str:
        """JavaScript: what a link asks for as values of `inputs`."""
        return f"""() => {{
            const asked = window.citer.link.controls();
            if (!asked) return null;
            const {{ question, data_type, router, settings }} = asked;
            return [question, data_type, router, ...{self._names}.map((name) => settings[name])];
        }}"""

    @property
    def _names(self) -> str:
        return json.dumps(list(self.settings))


def setting_control(name: str, *, value: float | None = None, elem_id: str | None = None) -> SettingControl:
    """A slider, or a field to type into where the table gives no step.

    Args:
        name: of the setting.
        value: that it starts with; None takes the default.
        elem_id: where the page's script or a test looks for it.
    """
    row = SETTINGS[name]
    value = row.default if value is None else value
    if not row.step:
        places = 0 if isinstance(row.kind, Whole) else None
        return gr.Number(value, precision=places, label=row.label, info=row.about, min_width=110, elem_id=elem_id)
    return gr.Slider(
        row.lowest, row.kind.high, value=value, step=row.step, label=row.label, info=row.about, buttons=[],
        min_width=150, elem_id=elem_id,
    )  # fmt: skip
