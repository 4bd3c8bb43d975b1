"""`AppConfig`: where the page is served, which pair it loads and how many runs it takes at once. `LlmServer`: where the
LLM runs, if not here.

The only reader of environment variables and of the page's flags. Knows nothing about gradio or models; called by `app`
and the command line.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, get_args
from urllib.parse import urlsplit

from citer_core.errors import SettingError
from citer_core.types import QUANTIZATIONS, PairOptions
from citer_core.web.settings import WebSettings

D = TypeVar("D", int, None)
TOKEN_TIMEOUT_S = 60.0
MAX_KEY_CHARS = 4096
MAX_TIMEOUT_S = 86_400.0
# Which pairs a visitor of the page may change to, from none to anything: every step includes the ones before it.
PairsAllowed = Literal["fixed", "here", "presets", "any"]
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]{1,64}){1,8}")
EVERY_INTERFACE = "0.0.0.0"  # what a container on Spaces must listen on


@dataclass(frozen=True, slots=True)
class LlmServer:
    """An OpenAI-compatible server that writes the LLM's tokens.

    Attributes:
        url: its API's root, e.g. `http://host:8000/v1`; no slash at the end.
        model: the name that it serves the LLM under; "" takes the only one there is.
        timeout_s: seconds to wait for one token, retries included; above 0.
        api_key: sent as a bearer token where not "": up to 4,096 visible ASCII characters. Never shown or stored.

    Raises:
        SettingError: a value outside its range.
    """

    url: str
    model: str = ""
    timeout_s: float = TOKEN_TIMEOUT_S
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.strip().rstrip("/"))
        try:
            parts = urlsplit(self.url)
            has_host = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number
            has_host = False
        if not has_host:
            raise SettingError(f"The LLM server's URL is {self.url!r}: give one like http://host:8000/v1.")
        parts = urlsplit(self.url)
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise SettingError("The LLM server's URL is host and path only: a key goes into CITER_LLM_API_KEY.")
        # A header that holds a line break is refused later, with the whole of it in the message.
        object.__setattr__(self, "api_key", self.api_key.strip())  # a file's last line feed
        if len(self.api_key) > MAX_KEY_CHARS or not all("!" <= character <= "~" for character in self.api_key):
            raise SettingError(
                "CITER_LLM_API_KEY holds a space, a line break or another character that a key cannot have: give the "
                "key alone, up to 4,096 visible ASCII characters."
            )
        if not 0 < self.timeout_s <= MAX_TIMEOUT_S:
            raise SettingError(f"The LLM server's timeout is {self.timeout_s}: give seconds, above 0, at most a day.")

    @classmethod
    def read(
        cls, url: str | None, model: str | None, timeout_s: float | None, environment: Mapping[str, str] | None = None
    ) -> LlmServer | None:
        """What the flags name; None where they name no server. The key is read from CITER_LLM_API_KEY.

        Raises:
            SettingError: see above; or a model or timeout without a server.
        """
        env = os.environ if environment is None else environment
        if not url:
            if model or timeout_s is not None:
                raise SettingError("--llm-model and --llm-timeout are for an LLM on a server: give --llm-url too.")
            return None
        key = env.get("CITER_LLM_API_KEY", "")
        return cls(url, model or "", TOKEN_TIMEOUT_S if timeout_s is None else timeout_s, key)


@dataclass(frozen=True, slots=True)
class AppConfig:
    """Settings of one process.

    Attributes:
        host, port: where the page is served.
        pair: a pair's name, or two models as "SLM,LLM".
        device, dtype: of both models, as torch spells them.
        options: how the pair is loaded.
        n_concurrent_runs: runs that decode together, in one batch.
        n_queued_runs: runs that may wait in line; one more is refused with a message.
        n_jobs: label analyses, roll-outs and probes that compute at the same time.
        measure: whether a visitor may have the device measured, which takes most of it for a minute; None allows it
            where only this machine can reach the page.
        llm_server: where the LLM runs; None loads it here.
        mcp: offer the documented endpoints as MCP tools too, where gradio's `mcp` extra is installed. Not together with
            a password, which gradio's MCP server would not ask for.
        pairs: which pairs may be chosen on the page: `fixed`, only the one it started with; `here`, those with all
            files on this machine; `presets`, all that have a name, which may mean a download; `any`, also two models
            that a visitor names, hub ids or folders. "" decides by the host: `presets` where only this machine can
            reach the page, `here` where others can.
        web: how the page is published.
        root_path: where a proxy in front shows the page, such as `/demo`; None leaves it to gradio's own
            `GRADIO_ROOT_PATH`, "" is the root.
    """

    host: str = "127.0.0.1"
    port: int = 7860
    pair: str = "embedded"
    device: str = "cpu"
    dtype: str = "float32"
    options: PairOptions = field(default_factory=PairOptions)
    n_concurrent_runs: int = 16
    n_queued_runs: int = 300
    n_jobs: int = 1
    measure: bool | None = None
    llm_server: LlmServer | None = None
    mcp: bool = False
    pairs: PairsAllowed | Literal[""] = ""
    web: WebSettings = field(default_factory=WebSettings)
    root_path: str | None = None

    def __post_init__(self) -> None:
        if self.root_path and not _ROOT_PATH.fullmatch(self.root_path):
            raise SettingError(
                "CITER_ROOT_PATH: give the path under which the proxy shows the page, such as /demo or /apps/citer, "
                "with no slash at the end and no host."
            )
        if self.pairs not in ("", *get_args(PairsAllowed)):
            raise SettingError(f"pairs is {self.pairs!r}: give one of {', '.join(get_args(PairsAllowed))}.")
        if self.mcp and self.web.accounts:
            raise SettingError("CITER_MCP=1 and CITER_AUTH do not go together: MCP would be open to everybody.")
        for name, value, low, high in (
            ("port", self.port, 1, 65_535),
            ("n_concurrent_runs", self.n_concurrent_runs, 1, 64),
            ("n_queued_runs", self.n_queued_runs, 1, 1024),
            ("n_jobs", self.n_jobs, 1, 64),
        ):
            if not low <= value <= high:
                raise SettingError(f"{name} is {value}: give a whole number from {low} to {high}.")

    @property
    def pairs_allowed(self) -> PairsAllowed:
        """`pairs`, decided."""
        return self.pairs or ("presets" if self.host in LOOPBACK else "here")

    @property
    def may_measure(self) -> bool:
        """`measure`, decided."""
        return self.host in LOOPBACK if self.measure is None else self.measure

    @classmethod
    def read(cls, flags: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> AppConfig:
        """Flags win over variables, variables over defaults.

        `PORT` (what hosts and `make app` set) wins over gradio's own `GRADIO_SERVER_PORT`.

        Raises:
            SettingError: a number is none, or outside its range.
        """
        env = os.environ if environment is None else environment
        default = cls()
        on_spaces = bool(env.get("SPACE_ID"))
        port = env.get("PORT") or env.get("GRADIO_SERVER_PORT")
        parser = argparse.ArgumentParser(prog="app.py", description="Serves the CITER page.", allow_abbrev=False)
        host = env.get("GRADIO_SERVER_NAME") or (EVERY_INTERFACE if on_spaces else default.host)
        parser.add_argument("--host", default=host)
        parser.add_argument("--port", type=int, default=_whole_number("PORT", port, default.port))
        parser.add_argument("--pair", default=env.get("CITER_PAIR") or default.pair)
        parser.add_argument("--device", default=env.get("CITER_DEVICE") or default.device)
        parser.add_argument("--dtype", default=env.get("CITER_DTYPE") or default.dtype)
        add_pair_options(parser, env)
        parser.add_argument("--llm-url", default=env.get("CITER_LLM_URL"), metavar="URL")
        parser.add_argument("--llm-model", default=env.get("CITER_LLM_MODEL"), metavar="NAME")
        pairs = env.get("CITER_PAIRS") or ("here" if on_spaces else default.pairs)
        parser.add_argument("--pairs", default=pairs, help="that visitors may choose: fixed, here, presets or any")
        args = parser.parse_args(list(flags))
        return cls(
            host=args.host,
            port=args.port,
            pair=args.pair,
            device=args.device,
            dtype=args.dtype,
            options=pair_options(args),
            n_concurrent_runs=_whole_number(
                "CITER_CONCURRENT_RUNS", env.get("CITER_CONCURRENT_RUNS"), default.n_concurrent_runs
            ),
            n_queued_runs=_whole_number("CITER_QUEUED_RUNS", env.get("CITER_QUEUED_RUNS"), default.n_queued_runs),
            n_jobs=_whole_number("CITER_JOBS", env.get("CITER_JOBS"), default.n_jobs),
            measure=_switch("CITER_MEASURE", env) if env.get("CITER_MEASURE") else None,
            llm_server=LlmServer.read(args.llm_url, args.llm_model, None, env),
            pairs=args.pairs,
            root_path=env.get("CITER_ROOT_PATH"),
            mcp=_switch("CITER_MCP", env),
            web=WebSettings.read(env),
        )


def add_pair_options(parser: argparse._ActionsContainer, environment: Mapping[str, str] | None = None) -> None:
    """Adds what `PairOptions` holds; for the page, a variable stands in for a flag that is not given.

    Raises:
        SettingError: a variable has a value that its flag would refuse.
    """
    env = environment or {}
    quantization = env.get("CITER_LLM_QUANTIZATION") or None
    if quantization not in (None, *QUANTIZATIONS):
        raise SettingError(f"CITER_LLM_QUANTIZATION is {quantization!r}: give {' or '.join(QUANTIZATIONS)}.")
    parser.add_argument(
        "--llm-quantization",
        choices=QUANTIZATIONS,
        default=quantization,
        help="load the LLM in 4 or 8 bits (needs an NVIDIA GPU and bitsandbytes)",
    )
    parser.add_argument(
        "--device-map",
        default=env.get("CITER_DEVICE_MAP") or None,
        metavar="MAP",
        help="spread the LLM over several GPUs, e.g. auto",
    )
    parser.add_argument(
        "--no-chat",
        action="store_true",
        default=_switch("CITER_NO_CHAT", env),
        help="give prompts as plain text, even where the tokenizer has a chat template",
    )
    parser.add_argument(
        "--cuda-graphs",
        action="store_true",
        default=_switch("CITER_CUDA_GRAPHS", env),
        help="replay passes of few tokens as CUDA graphs (needs an NVIDIA GPU; on an H200 one run was 2 to 4 times as "
        "fast)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=_whole_number("CITER_THREADS", env.get("CITER_THREADS"), None),
        metavar="N",
        help="threads of the processor (the fastest number by measurement; one for a small pair, of which `route` "
        "takes more while they help: with a number here, its confidences are the same to the last digit each time)",
    )
    parser.add_argument(
        "--download", action="store_true", default=_switch("CITER_DOWNLOAD", env), help="fetch models that are not here"
    )


def pair_options(args: argparse.Namespace) -> PairOptions:
    """The options in arguments of `add_pair_options`."""
    return PairOptions(
        llm_quantization=args.llm_quantization,
        device_map=args.device_map,
        chat=False if args.no_chat else None,
        cuda_graphs=args.cuda_graphs,
        download=args.download,
        threads=args.threads,
    )


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where this project keeps what it fetched or converted: `CITER_CACHE`, or `~/.cache/citer`.

    Who has no home, as a user id without a name, has a folder of its own among the temporary ones.

    Raises:
        SettingError: there is one of that name which belongs to another user.
    """
    env = os.environ if environment is None else environment
    try:
        return Path(env.get("CITER_CACHE") or "~/.cache/citer").expanduser()
    except RuntimeError:
        folder = Path(tempfile.gettempdir(), f"citer-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise SettingError(f"{folder} is another user's: set CITER_CACHE to a folder of your own.") from None
        return folder


def wanted_threads(environment: Mapping[str, str] | None = None) -> int | None:
    """The number of threads that a person asks for with OMP_NUM_THREADS, which torch reads itself; None for no wish."""
    env = os.environ if environment is None else environment
    text = env.get("OMP_NUM_THREADS", "").strip()
    return int(text) if text.isdecimal() and int(text) > 0 else None


def launch_rank(environment: Mapping[str, str] | None = None) -> int:
    """This process's number among those that `accelerate launch` or `torchrun` started; 0 when started by hand."""
    env = os.environ if environment is None else environment
    return _whole_number("RANK", env.get("RANK"), 0)


def _whole_number(name: str, text: str | None, default: D) -> int | D:
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise SettingError(f"{name} is {text!r}: give a whole number.") from None


def _switch(name: str, environment: Mapping[str, str]) -> bool:
    text = (environment.get(name) or "0").lower()
    if text not in ("0", "1", "false", "true"):
        raise SettingError(f"{name} is {text!r}: give 1 or 0.")
    return text in ("1", "true")


def is_zero_gpu(environment: Mapping[str, str] | None = None) -> bool:
    """Whether this is a Space on ZeroGPU, read as the package `spaces` reads it."""
    env = os.environ if environment is None else environment
    return env.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")
