"""What a page asks, without a server: the messages of an answer, errors among them, as the page would have them."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

from citer_core.ui.asking import Answers, Visitor, lines
from tests.loops import run_async

PAGE, OTHER_PAGE = (Visitor(name, "127.0.0.1", None) for name in ("page", "another"))


async def collected(answers: Answers, asked: object, visitor: Visitor = PAGE) -> list[dict[str, Any]]:
    """All messages."""
    async with aclosing(lines(answers, json.dumps(asked).encode(), visitor)) as told:
        return [json.loads(line) async for line in told]


def messages(answers: Answers, asked: object, visitor: Visitor = PAGE) -> list[dict[str, Any]]:
    """All messages."""
    return run_async(collected(answers, asked, visitor))


def last(answers: Answers, asked: object, visitor: Visitor = PAGE) -> dict[str, Any]:
    """The last one."""
    return messages(answers, asked, visitor)[-1]
