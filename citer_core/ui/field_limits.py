"""How long each field of each function of a page may be, for the door, which refuses longer ones before gradio does.

A choice that is none of its choices is printed and sent back as a whole by gradio; so only fields that take texts may
hold long ones. Knows gradio's components by their kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import gradio as gr
from gradio.components.api_component import Api

from citer_core.web.json_shape import SHORT_CHARS, FieldLimits
from citer_core.web.open_routes import RUN_BYTES

LARGE_ANSWERS, LARGE = ("citer_core.ui.labels.", "citer_core.ui.evidence."), 16
SHORT = (gr.Radio, gr.Dropdown, gr.Slider, gr.Number, gr.Checkbox, gr.HTML, gr.Button)


def field_limits(page: gr.Blocks) -> FieldLimits:
    """Looks a function up by its number or its name; None where there is no such one, which gradio then says.

    Args:
        page: with all its events.
    """
    by_number: dict[int, dict[object, int]] = {
        number: dict(enumerate(map(_limit, fn.inputs))) for number, fn in page.fns.items()
    }
    by_name: dict[str, dict[object, int]] = {
        fn.api_name: dict(zip(fn.input_parameter_names, map(_limit, fn.inputs), strict=False))
        for fn in page.fns.values()
        if isinstance(fn.api_name, str)
    }

    def limits(function: object) -> Mapping[object, int] | None:
        if isinstance(function, bool):
            return None
        if isinstance(function, int):
            return by_number.get(function)
        return by_name.get(function) if isinstance(function, str) else None

    return limits


def event_weights(page: gr.Blocks) -> Callable[[object], int]:
    """How much an answer of a function weighs, by its number: 16 for the page's analyses, which have megabytes.

    Functions that are called by name are of the public API and answer shortly.
    """
    large = {n for n, fn in page.fns.items() if str(getattr(fn.fn, "__module__", "")).startswith(LARGE_ANSWERS)}
    return lambda function: LARGE if isinstance(function, int) and function in large else 1


def _limit(block: object) -> int:
    is_short = isinstance(block, SHORT) or (isinstance(block, Api) and block.api_info() != {"type": "string"})
    return SHORT_CHARS if is_short else RUN_BYTES
