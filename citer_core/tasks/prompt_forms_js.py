"""The prompts' forms as a module for the browser, line by line, made by the builders in `prompts`.

python -m citer_core.tasks.prompt_forms_js      # writes assets/tasks/prompt_forms.js; a test says when
"""

from __future__ import annotations

import json

from citer_core.assets import ASSETS
from citer_core.tasks.problems import MAX_PROMPT_CHARS
from citer_core.tasks.prompts import PROMPT_VERSION, math_prompt, mc_prompt

MODULE = ASSETS / "tasks" / "prompt_forms.js"
_HEADER = """/**
 * What models read before a question and after it. Data only, made by `python -m citer_core.tasks.prompt_forms_js`:
 * change `citer_core/tasks/prompts.py`, not this file.
 */
"""


def module_text() -> str:
    """The whole module."""
    forms = {"math": math_prompt("{question}"), "mc": mc_prompt("{question}", ["{text}"], ["{label}"])}
    numbers = f"  version: {PROMPT_VERSION},\n  maxChars: {MAX_PROMPT_CHARS},\n"
    lines = {name: "".join(f"    {_literal(line)},\n" for line in form.split("\n")) for name, form in forms.items()}
    rows = "".join(f"  {name}: [\n{some}  ],\n" for name, some in lines.items())
    return f"{_HEADER}\nexport const PROMPT_FORMS = {{\n{numbers}{rows}}};\n"


def _literal(line: str) -> str:
    """As prettier writes it: in single quotes where that spares escapes."""
    text = json.dumps(line, ensure_ascii=False)
    if line.count('"') <= line.count("'"):
        return text
    return "'" + text[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


if __name__ == "__main__":
    MODULE.write_text(module_text(), encoding="utf-8")
