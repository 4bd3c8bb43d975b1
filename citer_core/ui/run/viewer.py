"""The live viewer as one gr.HTML component, and the server functions that its script may call.

Its template is constant: token text reaches the page only as data (`streaming.encode`) and the DOM only as text nodes,
so nothing in it can run. Must stay outside any tab: a component in a tab never opened loses stream updates.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from citer_core.browser_pair import pair_facts
from citer_core.errors import CiterError
from citer_core.models.presets import parse_pair
from citer_core.offline import offline_template
from citer_core.tasks.problems import MAX_PROMPT_CHARS
from citer_core.ui.engine_script import EngineScript
from citer_core.ui.familiar import Familiar
from citer_core.ui.page_assets import file_url, files_root
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.pricing import price_list
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.stream import missing_part
from citer_core.ui.streaming import Message

# Relative to the document, as gradio's own files are, so that it works under a proxy's path too. `ready` is an event of
# the component: the engine has become ready, and choices that depend on it can be filled in. `linked` and `priced` are
# others: the address holds a problem with its settings, or a price, which the page has checked. What never changes is
# one text: with each message gradio copies all properties, value by value.
_ON_LOAD = """
import(new URL(props.entry, document.baseURI).href)
  .then((page) => page.mountPage({
    element, props: { ...JSON.parse(props.facts), get value() { return props.value; } }, server, watch,
    onReady: () => trigger("ready"), onLinked: () => trigger("linked"), onPriced: () => trigger("priced"),
  }))
  .catch((error) => { element.textContent = "The viewer could not be started: " + error.message; });
"""


def viewer(
    assets: Path,
    switch: PairSwitch,
    desk: RunDesk,
    familiar: Familiar,
    *,
    has_cards: bool,
    one_file: Callable[[], str],
) -> gr.HTML:
    """The routed text with everything around it; its value is a message in JSON.

    Args:
        assets: where the script is.
        switch, desk: of the page.
        familiar: judges what the bundled pair is asked.
        has_cards: whether the page shows recorded runs, for which the script waits.
        one_file: the template of a page with the bundled pair in it.
    """
    facts = {
        "pricing": price_list(),
        "pair": parse_pair(switch.pair).name,
        "has_cards": has_cards,
        "browser_pair": pair_facts(f"{files_root()}/", EngineScript().url),
    }
    return gr.HTML(
        value=None,
        html_template='<div class="cx-viewer"></div>',
        js_on_load=_ON_LOAD,
        apply_default_css=False,
        elem_id="cx-viewer",
        server_functions=server_functions(switch, desk, familiar, one_file),
        entry=file_url(assets / "page" / "page.js"),
        facts=json.dumps(facts),
    )


def server_functions(
    switch: PairSwitch, desk: RunDesk, familiar: Familiar, one_file: Callable[[], str]
) -> list[Callable[[Any], Message]]:
    """They bypass the queue and take whatever a browser sends, so each checks what it is given."""

    def fetch_run(request: Any) -> Message:
        return missing_part(desk, request)

    def stop_run(request: Any) -> Message:
        run_id = request.get("run") if isinstance(request, dict) else None
        order = desk.registry.get(run_id)
        if order is not None:
            desk.cancel(order)
        return {"stopped": order is not None}

    def engine_status(_: Any) -> Message:
        return switch.status()

    def offline_page(request: Any) -> Message:
        is_live = isinstance(request, dict) and request.get("engine") is True
        return {"template": one_file() if is_live else offline_template()}

    def list_pairs(_: Any) -> Message:
        return switch.listed()

    def change_pair(request: Any) -> Message:
        asked = request if isinstance(request, dict) else {}
        try:
            return {"change": switch.begin(asked.get("pair"), asked.get("dtype", ""))}
        except CiterError as error:
            return {"error": str(error)}

    def cancel_change(request: Any) -> Message:
        return {"cancelled": switch.cancel(request.get("token") if isinstance(request, dict) else None)}

    def foreign_problem(request: Any) -> Message:
        asked = request if isinstance(request, dict) else {}
        question, data_type = asked.get("question"), asked.get("data_type")
        if not switch.holds_bundled or not isinstance(question, str) or not isinstance(data_type, str):
            return {"warning": None}
        return {"warning": familiar.warning(question[:MAX_PROMPT_CHARS], data_type)}

    return [
        fetch_run, stop_run, engine_status, offline_page, list_pairs, change_pair, cancel_change, foreign_problem,
    ]  # fmt: skip
