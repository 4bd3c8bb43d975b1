"""What a person can choose about one run: the one table of names, kinds, ranges, defaults and words; all are numbers.

Everything else is made of it: the fields of a trace (`trace_schema`), the browser's table (`trace_schema_js`), the
controls of the page, the keys of a link, the flags of the command line, the documentation of the API, what a server is
asked for. Settings travel as one object keyed by these names. Knows nothing of any of those; standard library and the
gate only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from citer_core.errors import GateError, SettingError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.fields import MAX_NUMBER, Real, Whole
from citer_core.gate.json_text import parse_json

N = TypeVar("N", int, float)
MAX_NEW_TOKENS = 4096
MAX_SETTINGS_CHARS = 2_000
_EXAMPLE = 'Give one JSON object, such as {"threshold": 0.7}.'
_KEY = "setting"


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table.

    Attributes:
        kind: which numbers are allowed.
        default: where nothing is said.
        label: over its control.
        about: in a few words, below the control, in `--help` and in the API's documentation.
        hint: a sentence behind the message about a wrong value.
        step: of its slider; 0 for a field that a number is typed into.
        named: in such a message; "" is its name.
        link: its key in a link; "" is its name.
        metavar: of its flag.
        for_sampling: it says nothing about a greedy run.
        looking_back: its usual value where a router of outcomes looks back; None where it does not say which model
            writes. What says that belongs to one way of a comparison or one point, all else to all of them.
        in_every_trace: it is as old as the form of traces. A newer one may be missing in a document from before, and is
            written only where it is not at its default, so that such a document keeps its bytes.
    """

    kind: Whole | Real
    default: float
    label: str
    about: str
    hint: str
    step: float = 0
    named: str = ""
    link: str = ""
    metavar: str = "N"
    for_sampling: bool = False
    looking_back: float | None = None
    in_every_trace: bool = False

    @property
    def lowest(self) -> float:
        """The lowest number that its slider offers."""
        return self.kind.low + self.step if isinstance(self.kind, Real) and self.kind.open_low else self.kind.low


def _setting(default: N, kind: Whole | Real, **words: Any) -> N:
    return field(default=default, metadata={_KEY: Setting(kind, default, **words)})


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """What a person can choose about one run.

    Attributes:
        threshold: tau in [0, 1]; the LLM writes a token iff `slm_confidence < threshold`, and always at 1.
        max_new_tokens: 1 to 4096; end-of-text counts as a token.
        temperature: 0 (greedy) to 2.
        top_p: nucleus in (0, 1]; only used when sampling.
        seed: a whole number of up to 15 digits, which every JSON reader keeps as it is; only used when sampling.
        take_back: in [0, 1]. Where the LLM is called it takes back the first SLM token since its last call that is less
            probable to it than this share of its own choice there; at 1 any other token, so that the text is the LLM's
            own; at 0 none, which is CITER.
        take_back_below: it takes back only tokens of which the router's confidence is below this, in [0, 1]; at 1 any.
        take_back_absolute: 1: less probable than the share itself, as in BiLD; 0: than that share of its own choice.
        doubt_budget: the LLM is also called when the router's doubts since its last call exceed this sum; 0 is none.
        look_every: it is also called when so many tokens stand since its last call; 0 is never.
        final_doubt: at the end it looks once more if the doubts since its last call exceed this sum. Only with
            `take_back`.

    Raises:
        SettingError: a value outside its range.
    """

    threshold: float = _setting(
        0.7, Real(0, 1), label="Threshold τ", step=0.01, named="threshold (tau)", link="at", metavar="TAU",
        about="The LLM writes a token when the router's confidence in the SLM is below it.",
        hint="0 gives every token to the SLM, 1 to the LLM.", looking_back=0.0, in_every_trace=True,
    )  # fmt: skip
    max_new_tokens: int = _setting(
        256, Whole(1, MAX_NEW_TOKENS), label="Most new tokens", step=1, link="n",
        about="The run ends there at the latest", hint="Each token takes one step.", in_every_trace=True,
    )  # fmt: skip
    temperature: float = _setting(
        0.0, Real(0, 2), label="Temperature", step=0.05, link="temp", metavar="T",
        about="0 decodes greedily", hint="0 decodes greedily.", for_sampling=True, in_every_trace=True,
    )  # fmt: skip
    top_p: float = _setting(
        1.0, Real(0, 1, open_low=True), label="Top-p", step=0.01, metavar="P", about="Nucleus; only when sampling",
        hint="1 keeps the whole distribution; 0 would leave no token to choose.", for_sampling=True,
        in_every_trace=True,
    )  # fmt: skip
    seed: int = _setting(
        0, Whole(-MAX_NUMBER, MAX_NUMBER), label="Seed", about="Only when sampling",
        hint="Any number of up to 15 digits will do.", for_sampling=True, in_every_trace=True,
    )  # fmt: skip
    take_back: float = _setting(
        0.0, Real(0, 1), label="Take back", step=0.01, link="back", metavar="RATIO",
        about="When called, the LLM takes back the first SLM token less probable than this share of its own",
        hint="0 takes nothing back (CITER), 1 every token that the LLM would not have written.", looking_back=0.2,
    )  # fmt: skip
    take_back_below: float = _setting(
        1.0, Real(0, 1), label="Take back below", step=0.01, link="below", metavar="CONFIDENCE",
        about="Only tokens of a lower confidence than this are taken back",
        hint="1 leaves it to the LLM alone.", looking_back=1.0,
    )  # fmt: skip
    take_back_absolute: int = _setting(
        0, Whole(0, 1), label="Take back absolutely", step=1, link="abs", metavar="0|1",
        about="1: what is less probable to the LLM than the share itself (BiLD); 0: than that share of its own choice",
        hint="0 compares with the LLM's own choice.", looking_back=0,
    )  # fmt: skip
    doubt_budget: float = _setting(
        0.0, Real(0, MAX_NEW_TOKENS), label="Doubt budget", step=0.05, link="doubt", metavar="SUM",
        about="The LLM is also called when the doubts since its last call exceed this sum; 0: not",
        hint="A doubt is 0 to 1 for each token of the SLM.", looking_back=0.35,
    )  # fmt: skip
    look_every: int = _setting(
        0, Whole(0, MAX_NEW_TOKENS), label="Look every", step=1, link="every",
        about="The LLM is also called after so many tokens without it; 0: not", hint="0 leaves it to the router.",
        looking_back=0,
    )  # fmt: skip
    final_doubt: float = _setting(
        0.0, Real(0, MAX_NEW_TOKENS), label="Final look above", step=0.05, link="final", metavar="SUM",
        about="Doubts since its last call above which the LLM reads the end too; with take_back only",
        hint="0 has the LLM read the end of every answer.", looking_back=0.02,
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name, setting in SETTINGS.items():
            try:
                value = setting.kind.read(getattr(self, name), setting.named or name)
            except GateError as error:
                raise SettingError(f"{error} {setting.hint}") from None
            object.__setattr__(self, name, value)  # 256.0, as a browser may write it, is 256

    def to_dict(self) -> dict[str, float]:
        """By name, as documents hold them; see `Setting.in_every_trace`."""
        old = {name: getattr(self, name) for name, setting in SETTINGS.items() if setting.in_every_trace}
        return old | self.newer()

    def newer(self) -> dict[str, float]:
        """Those that came later and are not at their default: what knows the first ones alone has to make way."""
        values = {name: getattr(self, name) for name, setting in SETTINGS.items() if not setting.in_every_trace}
        return {name: value for name, value in values.items() if value != SETTINGS[name].default}


Others = tuple[tuple[str, float], ...]  # some settings, by name
# By name, in the order of the fields.
SETTINGS: dict[str, Setting] = {one.name: one.metadata[_KEY] for one in fields(DecodeSettings)}
# Those that say which model writes, as they usually are in a run that looks back.
LOOKING_BACK = {name: row.looking_back for name, row in SETTINGS.items() if row.looking_back is not None}


def read_settings(given: object) -> dict[str, Any]:
    """Some of the settings by name, as they were sent; `DecodeSettings(**...)` checks their values.

    Args:
        given: an object, or one as JSON text; nothing and "" name none. A setting that it does not name has its
            default.

    Raises:
        SettingError: it is no object, or names something else.
    """
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            given = parse_json(given, max_chars=MAX_SETTINGS_CHARS)
        except GateError as error:
            raise SettingError(f"settings cannot be read: {error} {_EXAMPLE}") from None
    known = ", ".join(SETTINGS)
    if not isinstance(given, Mapping):
        raise SettingError(f"settings is {excerpt(given)}; it must be an object that may hold {known}. {_EXAMPLE}")
    for name in given:
        if name not in SETTINGS:
            raise SettingError(f"There is no setting {excerpt(name)}: settings may hold {known}.")
    return dict(given)


def in_words(values: Iterable[tuple[str, float]]) -> list[str]:
    """Settings as `name=value`."""
    return [f"{name}={value:g}" for name, value in values]


def settings_words() -> str:
    """All settings in one line for a person or a language model: name, range, default, what it does."""
    rows = (f"{name}, {row.kind.wanted} ({row.default:g}; {row.about.rstrip('.')})" for name, row in SETTINGS.items())
    return "; ".join(rows)
