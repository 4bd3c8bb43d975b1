"""Training progress on stderr: a bar in a terminal, lines of losses everywhere. Knows nothing about what is trained."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm
from transformers import TrainerCallback


class Progress(TrainerCallback):  # type: ignore[misc]  # transformers' lazy imports hide the class
    """Told by Trainer what happens; silent in all processes but the first."""

    def __init__(self) -> None:
        self._bar: Any = None

    def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Draws the bar where the run is, which is not 0 when it resumes."""
        if not state.is_world_process_zero:
            return
        if state.global_step:
            tqdm.write(f"resuming at step {state.global_step} of {state.max_steps}", file=sys.stderr)
        # A bar in a log file is a page of half-drawn bars.
        quiet = not sys.stderr.isatty()
        self._bar = tqdm(total=state.max_steps, initial=state.global_step, unit="step", disable=quiet)

    def on_step_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Moves the bar by one optimizer step."""
        if self._bar is not None:
            self._bar.update(1)

    def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:
        """Writes the mean loss since the last line."""
        if self._bar is not None and logs and "loss" in logs:
            line = f"step {state.global_step}/{state.max_steps} | loss {float(logs['loss']):.4f}"
            tqdm.write(line, file=sys.stderr)

    def on_train_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Closes the bar."""
        if self._bar is not None:
            self._bar.close()
