"""`PairOffers`: the pairs that may be chosen on the page, with what each needs and whether there is room for it.

Knows presets, memory and what the server's settings allow; no engine but its description, and no torch at import.
"""

from __future__ import annotations

from typing import Any, Literal

from citer_core.config import AppConfig
from citer_core.errors import SettingError
from citer_core.gate.excerpt import excerpt
from citer_core.hardware import has_bfloat16
from citer_core.models.presets import EMBEDDED, PRESETS, Preset, parse_pair
from citer_core.models.store import AUTO, PairNeeds, needs_of
from citer_core.system_memory import free_bytes
from citer_core.trace import PairInfo
from citer_core.zero_gpu import spaces_module

# `beside`: the old pair goes on until the new one is ready; `after`: there is only room once the old one is gone.
Room = Literal["beside", "after", "none"]
DTYPES = ("float32", "bfloat16")
HERE_ONLY = (
    "This server only loads pairs whose files it already has. On a machine of your own every pair can be chosen."
)
ZERO_GPU = "On ZeroGPU the models are placed on the GPU when the Space starts, so it is chosen there (CITER_PAIR)."
ON_SERVER = "The LLM of this page runs on a server of its own, so the pair is chosen when the page is started."
FIXED = "The operator of this server has fixed the pair (CITER_PAIRS=fixed)."


class PairOffers:
    """What may be chosen; asked anew each time, because files and free memory change."""

    def __init__(self, config: AppConfig) -> None:
        self._config = config
        self.why_off = _why_off(config)

    @property
    def allows_own(self) -> bool:
        """Whether a visitor may name any two models."""
        return not self.why_off and self._config.pairs_allowed == "any"

    @property
    def may_download(self) -> bool:
        """Whether a choice may lead to a download."""
        return self._config.pairs_allowed in ("presets", "any")

    def dtypes(self, pair: str) -> tuple[str, ...]:
        """The number formats that a pair may be loaded in, the one that is taken unless a visitor says otherwise first.

        The bundled pair has one: its routers were trained on its states in float32.
        """
        if pair == EMBEDDED:
            return ("float32",)
        first = self._config.dtype
        # float32 is the server's default for the bundled pair's sake. Others were published in bfloat16, which takes
        # half the memory; it is slow only where the hardware does not have it.
        if first == "float32" and (self._config.device != "cpu" or has_bfloat16()):
            first = "bfloat16"
        return (first, *(dtype for dtype in DTYPES if dtype != first))

    def listed(self, loaded: PairInfo | None, loaded_as: str) -> dict[str, Any]:
        """Everything that the picker shows, as JSON; arguments as for `check`."""
        free = free_bytes(self._config.device)
        shown = PRESETS.values() if not self.why_off else ()
        return {
            "free_bytes": free,
            "device": self._config.device,
            "loaded_bytes": loaded_bytes(loaded),
            "allows_own": self.allows_own,
            "note": HERE_ONLY if not self.why_off and not self.may_download else "",
            "pairs": [self._row(preset, loaded, loaded_as, free) for preset in shown],
        }

    def check(self, pair: object, dtype: object, loaded: PairInfo | None, loaded_as: str) -> tuple[str, str, Room]:
        """What a browser asks for, which may be anything.

        Args:
            pair: the name of a preset, or two models where they are allowed.
            dtype: one of `dtypes`; "" takes the first.
            loaded: the pair that is there.
            loaded_as: its name as `--pair` has it; two pairs of folders may share a title.

        Returns:
            The pair, its dtype, and how there is room for it.

        Raises:
            SettingError: it is not allowed, is loaded already, or there is no room for it.
            PairError: it is no pair.
        """
        if self.why_off:
            raise SettingError(self.why_off)
        if not isinstance(pair, str) or not isinstance(dtype, str) or len(pair) > 500:
            raise SettingError('Ask for {"pair": name, "dtype": "float32" or "bfloat16"}.')
        pair = pair.strip()
        # Before the name is used: a visitor must not learn whether there is such a folder here.
        if pair not in PRESETS and not self.allows_own:
            raise SettingError("This server takes pairs from its list only; CITER_PAIRS=any lets visitors name models.")
        choice = parse_pair(pair)
        dtype = dtype or self.dtypes(pair)[0]
        if dtype not in self.dtypes(pair):
            raise SettingError(f"{choice.name} cannot be loaded in {excerpt(dtype)}: {' or '.join(self.dtypes(pair))}.")
        if loaded is not None and loaded_as == pair and dtype in (loaded.dtype, AUTO):
            raise SettingError(f"{choice.name} is loaded already, in {loaded.dtype}.")
        needs = needs_of(pair, dtype, self._config.options.llm_quantization)
        if needs.n_missing and not self.may_download:
            raise SettingError(f"The files of {choice.name} are not here. {HERE_ONLY}")
        free = free_bytes(self._config.device)
        room = room_for(needs, free, loaded_bytes(loaded))
        if room == "none":
            assert needs.peak_bytes is not None and free is not None
            raise SettingError(
                f"{choice.name} needs {_gb(needs.peak_bytes)} in {dtype}, and {_gb(free + loaded_bytes(loaded))} would "
                "be free without the pair that is loaded now: choose a smaller pair or bfloat16."
            )
        return pair, dtype, room

    def _row(self, preset: Preset, loaded: PairInfo | None, loaded_as: str, free: int | None) -> dict[str, Any]:
        from citer_core.routing.catalog import stored_router_names

        models = (preset.slm, preset.llm)
        variants = {}
        n_missing, fetch_bytes = 0, None
        for dtype in self.dtypes(preset.name):
            needs = needs_of(preset.name, dtype, self._config.options.llm_quantization)
            n_missing, fetch_bytes = needs.n_missing, needs.fetch_bytes
            variants[dtype] = {
                "memory_bytes": needs.memory_bytes,
                "peak_bytes": needs.peak_bytes,
                "converts": needs.converts,
                "room": room_for(needs, free, loaded_bytes(loaded)),
                "is_loaded": loaded is not None and loaded_as == preset.name and dtype in (loaded.dtype, AUTO),
            }
        return {
            "name": preset.name,
            "title": preset.title,
            "n_params": [model.spec.n_params for model in models],
            "licences": list(dict.fromkeys(model.licence.partition(" (gated")[0] for model in models)),
            "is_gated": any("gated" in model.licence for model in models),
            "is_bundled": preset.name == EMBEDDED,
            "n_missing": n_missing,
            "fetch_bytes": fetch_bytes,
            "is_allowed": n_missing == 0 or self.may_download,
            "routers": stored_router_names(preset.title),
            "variants": variants,
        }


def room_for(needs: PairNeeds, free: int | None, old_bytes: int) -> Room:
    """How there is room for a pair.

    Args:
        needs: of the new pair. Where its size is not known, the old one makes way first, to be safe.
        free: bytes; None where they are not known, which is taken as enough.
        old_bytes: of the pair that is loaded.
    """
    if needs.peak_bytes is None:
        return "after"
    if free is None or needs.peak_bytes <= free:
        return "beside"
    return "after" if needs.peak_bytes <= free + old_bytes else "none"


def loaded_bytes(loaded: PairInfo | None) -> int:
    """Bytes that surely come free with the loaded pair: its weights; 0 where there is none."""
    return 0 if loaded is None else loaded.slm.stored_bytes + loaded.llm.stored_bytes


def _why_off(config: AppConfig) -> str:
    if config.llm_server is not None:
        return ON_SERVER
    if spaces_module() is not None:
        return ZERO_GPU
    return FIXED if config.pairs_allowed == "fixed" else ""


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB"
