"""What both languages need to know of prompts and answers, as a module for the browser.

python -m citer_core.tasks.tables_js      # writes assets/tasks/tables.js; a test says when
"""

from __future__ import annotations

import json

from citer_core.assets import ASSETS
from citer_core.tasks import answer_patterns
from citer_core.tasks.problems import MAX_PROMPT_CHARS
from citer_core.tasks.prompts import PROMPT_VERSION, math_prompt, mc_prompt

MODULE = ASSETS / "tasks" / "tables.js"
_HEADER = """/**
 * What models read before a question and after it, and how answers may be written. Data only, made by
 * `python -m citer_core.tasks.tables_js`: change `citer_core/tasks/prompts.py` or `answer_patterns.py`, not this file.
 */

/* eslint citer/columns: off */
"""


def module_text() -> str:
    """The whole module."""
    forms = {
        "version": PROMPT_VERSION,
        "maxChars": MAX_PROMPT_CHARS,
        "math": math_prompt("{question}").split("\n"),
        "mc": mc_prompt("{question}", ["{text}"], ["{label}"]).split("\n"),
    }
    patterns = {
        _camel(name): value for name, value in vars(answer_patterns).items() if name.isupper() and name[0] != "_"
    }
    return "\n".join([_HEADER, _constant("PROMPT_FORMS", forms), _constant("ANSWER_PATTERNS", patterns)])


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(map(str.title, rest))


def _constant(name: str, table: dict[str, object]) -> str:
    rows = "".join(f"  {key}: {json.dumps(value)},\n" for key, value in table.items())
    return f"// prettier-ignore\nexport const {name} = {{\n{rows}}};\n"


if __name__ == "__main__":
    MODULE.write_text(module_text(), encoding="utf-8")
