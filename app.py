"""Serves the page: `python app.py [--port 7860]`, and the entry point on Hugging Face Spaces.

The page is answered first and the models are loaded behind it, so nothing here may import torch; but on ZeroGPU, where
they must be placed on the device before anything is served.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from citer_core.config import AppConfig, cache_folder
from citer_core.errors import CiterError, SettingError
from citer_core.large_import import large_import
from citer_core.leftovers import clear_leftovers
from citer_core.system_memory import MemoryKeeper, share_one_heap
from citer_core.types import LoadProgress
from citer_core.web.before_gradio import own_scratch, without_proxies
from citer_core.web.request_log import set_up_log
from citer_core.zero_gpu import spaces_module

share_one_heap()
own_scratch()  # gradio reads where it is when it is imported
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while this is being read ends it without a traceback
with without_proxies(), large_import("citer_core.ui.server"):
    from citer_core.ui.jobs import Lines
    from citer_core.ui.pair.engine_slot import EngineSlot
    from citer_core.ui.pair.offers import PairOffers
    from citer_core.ui.pair.switch import PairSwitch
    from citer_core.ui.run.desk import RunDesk
    from citer_core.ui.run.order import RunRegistry
    from citer_core.ui.server import PageServer
    from citer_core.ui.stopping import Stopping
    from citer_core.web.traffic import PageTraffic

if TYPE_CHECKING:
    from citer_core.engine import Engine


# PairSwitch calls it with positional arguments.
def load_engine(pair: str, dtype: str, download: bool, on_progress: LoadProgress) -> Engine:  # noqa: FBT001
    """Imports torch and reads a pair's weights; called in the background."""
    with large_import("citer_core.engine", before_each=traffic.let_pass):
        from citer_core.engine import Engine

    clear_leftovers(cache_folder())
    # On ZeroGPU to the device once, in this process; each run then borrows the GPU for as long as it may take.
    on_zero_gpu = spaces_module() is not None
    if on_zero_gpu and config.options.cuda_graphs:
        raise SettingError("CUDA graphs do not go with ZeroGPU, which lends the GPU anew for each run: leave them out.")
    engine = Engine.load(
        pair,
        device="cuda" if on_zero_gpu else config.device,
        dtype=dtype,
        options=replace(config.options, download=download),
        llm_server=config.llm_server,
        on_progress=on_progress,
    )
    return engine.on_zero_gpu() if on_zero_gpu else engine


traffic = PageTraffic()
set_up_log("text")
try:
    # Flags are ours only where this file is the program.
    config = AppConfig.read(sys.argv[1:] if __name__ == "__main__" else ())
    set_up_log(config.web.log_form)
    slot = EngineSlot(
        lambda: load_engine(config.pair, config.dtype, config.options.download, lambda *_: None),
        n_runs=config.n_concurrent_runs,
        keeper=MemoryKeeper(),
    )
    switch = PairSwitch(slot, load_engine, PairOffers(config), config.pair, config.dtype)
    if spaces_module() is not None:  # imported before torch, and the models placed while the module is read
        slot.fill()
    lines = Lines.of(config)
    desk = RunDesk(slot, lines.runs, RunRegistry())
    server = PageServer(config, slot, switch, lines, desk, traffic)
except CiterError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)

if __name__ == "__main__":
    try:
        address = server.start()
    except CiterError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    stopping = Stopping(desk)
    stopping.install()
    with contextlib.suppress(OSError):  # a closed terminal is no reason not to serve
        print(f"CITER is served on {address}", flush=True)
    slot.start()
    stopping.wait()
    stopping.end(server.close)
