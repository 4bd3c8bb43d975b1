r"""The child process behind `equivalence`: compares two answers as mathematics with sympy, one pair a line.

Never imported by the project; run as a script. It is a process of its own because the text comes from a model:
`9^{9^{9^9}}` is valid LaTeX that sympy would try to evaluate for ever, holding the interpreter lock. A process can be
stopped by the kernel, a thread cannot. A limit that is overrun ends this process; the parent sees the closed pipe,
counts the pair as different and starts another worker for the next one.

The rules: a letter in brackets is a choice, `(C) 12` is C and is 12. A percentage equals its number and its hundredth.
A unit, which is a word behind a number or what is marked up as text there, is not compared, nor are degrees but those
of an angle's sine. A letter right behind a number is an unknown: 2m is not 2, and X is not x. Numbers are exact: a
decimal is the rational that it says, where math-verify by itself rounds to 6 digits and takes all below 1e-15 for 0.

Protocol: a line `["true answer", "predicted answer"]` of cleaned LaTeX in, a line `true` or `false` out.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import resource
import signal
import sys
from typing import Any

SECONDS_PER_PAIR = 5.0  # of the processor's time
MAX_MEMORY_BYTES = 2 << 30
DIGITS = 1_000

_WORD = "(?:[A-Za-z]{3,}|[ckm]m|[km]g|m[lLi]|in|ft|yd|lb|oz|hr|[ap]m|[mgshlL])"
UNIT = re.compile(
    r"(.*[0-9)}%]) *(?:\\(?:text|textrm|textbf|mathrm|mbox|rm) *\{ *((?!and|or)[A-Za-z][A-Za-z0-9 ./^-]*)\}"
    rf"|(?<= )((?!(?:pi|or|and|mod|sin|cos|tan|log|exp)\b){_WORD}(?:[ ./-]{_WORD})*))(?: *\^ *\{{?\d\}}?)?"
)
PERCENT = re.compile("(?:%|per ?cent)$")
DEGREES = re.compile("\u00b0 *(?:[CF](?![a-zA-Z]))?")
ANGLE = re.compile(r"(\\(?:sin|cos|tan|cot|sec|csc)(?:\^\d)? *[({]? *)(\d+(?:\.\d+)?) *\u00b0")
LETTER_ALONE = re.compile(r"\\text\w* *\{([A-Z])\}")
LETTER = re.compile(r"(?:\\text\w* *)?\{?\(([A-Z])\)(?: *\}|[ .:]|$)[ .:]*(.*)")
IMAGINARY = re.compile(r"(?<![a-zA-Z\\])i(?![a-zA-Z])")
# Ways of writing a number that LaTeX does not have, and the same in LaTeX.
WRITTEN = (
    (re.compile(r"(?<=\d)[ ,](?=\d{3}(?:[ ,]\d{3})*(?:\.\d*)?$)"), ""),
    (re.compile(r"([+-]?[\d.]+)[eE]([+-]?\d+)"), r"\1\\times 10^{\2}"),
    (re.compile(r"(\d+) (\d+)/(\d+)$"), r"\1\\frac{\2}{\3}"),
    (re.compile(r"\+ -"), "-"),
)
BASED = re.compile(r"(\d[0-9A-Za-z]*|[0-9A-F]+(?=_ ?\{?16))_ ?\{?(\d{1,2})\}?")


def read(latex: str) -> tuple[str, bool]:
    """LaTeX without unit and percent sign, and whether there was one."""
    latex = DEGREES.sub("", ANGLE.sub(r"\1\\frac{\2\\pi}{180}", latex)).strip()
    unit = UNIT.fullmatch(latex)
    latex, behind = (unit[1], unit[2] or unit[3]) if unit else (latex, "")
    is_percent = bool(PERCENT.search(behind.strip()) or PERCENT.search(latex))
    latex = PERCENT.sub("", latex).strip()
    if based := BASED.fullmatch(latex):
        return str(int(based[1], int(based[2]))), is_percent
    for pattern, by in WRITTEN:
        latex = pattern.sub(by, latex)
    return latex, is_percent


def same(true_latex: str, predicted_latex: str) -> bool:
    """Compares two answers; raises whatever sympy does over what it cannot read."""
    true_latex, predicted_latex = (
        letter[1] if (letter := LETTER_ALONE.fullmatch(latex)) else latex for latex in (true_latex, predicted_latex)
    )
    letters = LETTER.fullmatch(true_latex), LETTER.fullmatch(predicted_latex)
    if letters[0] and letters[1]:
        return letters[0][1] == letters[1][1]
    for letter, answer in ((letters[0], predicted_latex), (letters[1], true_latex)):
        if letter:
            return answer in {letter[1], letter[2]} or same(letter[2], answer)
    (left, is_left_percent), (right, is_right_percent) = read(true_latex), read(predicted_latex)
    is_real = not IMAGINARY.search(f"{left} {right}")
    one, other = parsed(left, is_real=is_real), parsed(right, is_real=is_real)
    if equal(one, other):
        return True
    return is_left_percent != is_right_percent and equal(
        *((one / 100, other) if is_left_percent else (one, other / 100))
    )


def parsed(latex: str, *, is_real: bool) -> Any:
    """The expression, exact and evaluated; X is not x, which latex2sympy by itself takes for one symbol."""
    from latex2sympy2_extended.latex2sympy2 import ConversionConfig, NormalizationConfig, latex2sympy
    from sympy import Expr, Float, I, Rational, Symbol

    found = latex2sympy(
        latex, is_real=is_real, conversion_config=ConversionConfig(lowercase_symbols=False),
        normalization_config=NormalizationConfig(units=False, malformed_operators=True, nits=True, boxed="none"),
    )  # fmt: skip
    exact = {number: Rational(str(number)) for number in found.atoms(Float)}
    found = found.xreplace(exact | {symbol: I for symbol in found.atoms(Symbol) if symbol.name == "i"})
    return found.doit() if isinstance(found, Expr) else found


def equal(one: Any, other: Any) -> bool:
    """Compares two expressions; sets and relations may stand for each other."""
    from math_verify import verify
    from sympy import Symbol

    if isinstance(one, Symbol) and isinstance(other, Symbol):
        return bool(one == other)
    return bool(verify(one, other, numeric_precision=DIGITS, allow_set_relation_comp=True, timeout_seconds=None))


def main() -> None:
    """Answers pairs until standard input closes."""
    with contextlib.suppress(ValueError, OSError):  # macOS refuses this limit; the time limit still holds there
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    logging.disable(logging.CRITICAL)  # math-verify warns that its timeouts are off; ours is below
    sys.set_int_max_str_digits(0)
    parsed("1", is_real=True)  # imports, which may take longer than a pair
    for line in sys.stdin:
        # The default action of SIGPROF ends the process even inside C code, where a Python handler would wait. It is
        # the processor's time that counts: what is equal must not depend on what else the machine does.
        signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_PAIR)
        try:
            verdict = same(*json.loads(line))
        except Exception:  # whatever cannot be read as mathematics is not the same
            verdict = False
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main()
