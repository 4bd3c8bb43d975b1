"""What gradio prints when a handler or a value of a visitor fails, as bounded lines of the process's own log.

Gradio prints whole tracebacks to standard error, with the visitor's value in them, at any length.
"""

from __future__ import annotations

import logging
import sys

import gradio.queueing

logger = logging.getLogger(__name__)


class _Traceback:
    """Stands for the module `traceback` where gradio's queue prints."""

    @staticmethod
    def print_exc() -> None:
        """Logs what is being handled."""
        error = sys.exc_info()[1]
        if error is not None:
            logger.warning("an event failed", exc_info=error)


def quiet_gradio() -> None:
    """Once or more often."""
    setattr(gradio.queueing, "traceback", _Traceback)  # noqa: B010  # it is no name that gradio offers
