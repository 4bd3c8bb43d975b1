"""Every error that a person's input or machine can cause. Knows nothing else of the project.

    CiterError
    |-- InputError            a value, prompt or row that we cannot work with
    |   |-- PromptError       empty, or longer than the models' context
    |   |-- SettingError      a decoding setting outside its range
    |   |-- DatasetError      a data file or one of its rows
    |   `-- GateError         a document, request or argument of another kind or size than we read
    |-- PairError             the two models cannot work together
    |-- ModelFileError        a weights file is missing, truncated or of another kind
    |-- NotANumberError       a model or a router computed what is no number
    |-- ServerError           the LLM's server cannot be reached, or answers something else than we asked for
    |-- LineFullError         more is waiting already than the line holds
    |-- RouterError           a router is unknown, or does not fit the pair
    |-- MachineError          the machine ran out in mid-work: disk full, memory full, a file that another run writes
    |-- StoppedError          a person stopped what was going on
    |-- TraceError            a trace document that is not one of ours
    `-- ProfileError          a stored profile that is not one of ours

Each message says what was wrong, what is allowed, and what to do next. A broken invariant of our own is an
AssertionError instead: it should stop the program, not advise its user.
"""

from __future__ import annotations


class CiterError(Exception):
    """Base of all errors that are shown to a person as they are."""


class InputError(CiterError):
    """Input that we cannot work with."""


class PromptError(InputError):
    """A prompt that is empty or too long."""


class SettingError(InputError):
    """A setting outside its range."""


class DatasetError(InputError):
    """A data file or one of its rows."""


class GateError(InputError):
    """A value from outside that the gate does not let through: of another kind, too long, or outside its range."""


class PairError(CiterError):
    """Two models that do not share one vocabulary."""


class ModelFileError(CiterError):
    """A model file that cannot be read."""


class NotANumberError(CiterError):
    """A model or a router that computed something else than numbers, in the middle of a run."""


class ServerError(CiterError):
    """The server that the LLM runs on."""


class LineFullError(CiterError):
    """A waiting line that takes no more."""


class RouterError(CiterError):
    """A router that does not exist or does not fit the pair."""


class MachineError(CiterError):
    """Nothing is wrong with what was asked: the disk or the memory of this machine ran out. What is finished stays."""


class StoppedError(CiterError):
    """A person stopped it: no failure, but there is no result either."""


class TraceError(CiterError):
    """A document that is not a trace of a version that we can read."""


class ProfileError(CiterError):
    """A document that is not a profile of a version that we can read."""
