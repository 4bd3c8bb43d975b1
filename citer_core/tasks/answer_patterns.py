r"""How answers are written and announced: one table of patterns, for Python and for the browser.

Every pattern means the same in both languages: a cleaned text has plain spaces, ASCII digits and brackets, and what
looks for words reads it in lower case, so that none needs `\s`, `\w` or `\b`. `choice_reader` says what they are for,
and `python -m citer_core.tasks.tables_js` makes the browser's copy.
"""

from __future__ import annotations

from typing import Final

# Pairs of a pattern and what stands in its place, in this order.
CLEANED: Final = (
    ("[\ue000-\uf8ff]", ""), ("[\u2018\u2019\u02bc\u2032]", "'"), ("[\u201c-\u201f\u00ab\u00bb]", '"'),
    ("[\u2010-\u2013\u2212]", "-"), (" *[\u2014\u2015] *", " - "), ("[\u3002\uff61]", "."),
    ("[\u3010\u3014\u300c\u300e\u3008]", "["), ("[\u3011\u3015\u300d\u300f\u3009]", "]"),
    ("\u00b2", "^2"), ("\u00b3", "^3"), ("\u03c0", "\\pi "), ("\u221e", "\\infty "), ("\u221a", "\\sqrt "),
    ("\u2264", "\\le "), ("\u2265", "\\ge "), ("\u00d7", "\\times "), ("\u00b7", "\\cdot "), ("\u00f7", "/"),
    (r"\^? *\{? *\\circ(?![a-zA-Z]) *\}?|\\degree(?![a-zA-Z])", "\u00b0"),
    (r"(?<!\\)\\(?:displaystyle|left|right|[!()\[\]])(?![a-zA-Z])", ""),
    (r"\\[dt]frac(?![a-zA-Z])", "\\frac"),
    (r"(?<!\\)\\[,;: ]|\\quad(?![a-zA-Z])|~", " "),
    (r"\\?\$|[\u00a3\u00a5\u20ac]", ""), (r"\\%", "%"), ("</[aA]nswer>", " "), (r"\{,\}", ","), (" +", " "),
)  # fmt: skip
WRAP: Final = r"\\(?:text(?:bf|it|rm|tt|sf)?|math(?:rm|bf|it|sf|tt)|mbox|boldsymbol|bm|bf|rm)(?![a-zA-Z]) *(?=\{)"
# LaTeX that a choice may have without: braces around one word or number, and a fraction of two; groups by `$`.
PLAINER: Final = (
    (f"{WRAP}\\{{([^{{}}]*)\\}}", "$1"), (r"\^ ?\{(-?[0-9a-zA-Z]+)\}", "^$1"),
    (r"\\frac ?\{([0-9a-zA-Z]+)\} ?\{([0-9a-zA-Z]+)\}", "$1/$2"),
)  # fmt: skip

# Mathematics: what is compared without a library.
GROUPED: Final = r"^[+-]?[0-9]{1,3}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+)(?:\.[0-9]*)?$"
NUMBER: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$"
PROSE: Final = r"^(?:yes|no|[a-z0-9 .,'-]*[a-z]{4}[a-z0-9 .,'-]*)$"
LOOSE_SPACE: Final = "(?<![0-9]) | (?![0-9])"

# Multiple choice. Beside a choice, in its word, only quotes, brackets and stops stand; and it is no part of a sum.
BEFORE: Final = "(?:^|[ \n]|<answer>|\\\\boxed)[\"'([{<*_`]*$"
BEHIND: Final = "^(?! ?(?:\\\\times|\\\\cdot|[-+*/=^]) ?[0-9])[.,;:!?\"')\\]}>*_`]*(?:[ \n]|$)"
OPERATOR: Final = r" ?(\\(?:times|cdot|le|ge)(?![a-zA-Z])|[-+/=<>]) ?"
SUM_BEFORE: Final = r"[0-9)] ?(?:\\times|\\cdot|[-+*/^]) ?$"
NEW_QUESTION: Final = r"\n[ \t]*Question:"
BRACKETED: Final = r"[(\[] ?([^ ()\[\]]{1,20}) ?[)\]]"

# Each place where a choice is named becomes one mark: its text, its label in brackets, its label alone.
TEXT, LABEL, BARE, NO_CHOICE = 0xE000, 0xE400, 0xE800, 0xEC00
_TEXT, _LABEL, _ANY = "[\ue000-\ue3ff]", "[\ue400-\ue7ff]", "[\ue000-\uec00]"
_CLOSE = "[.,;:!?\"')\\]}>*_` ]*"
_GOOD = "(?:correct|right|best|final|only|true|proper|appropriate|suitable)"
_ADVERB = "(?:most likely|probably|clearly|definitely|therefore|thus|simply|also|indeed|still)"
_BE = "(?:is|:|=|would be|should be|must be|will be|has to be|seems(?: to be)?|was)(?![a-z'])"
_IS = rf"[\x22'*_)\]}}]* ?{_BE}"
_IS_GOOD = (
    f" (?:is|must be|would be|should be) (?:{_ADVERB} )*(?:the )?"
    f"(?:{_GOOD}(?: (?:answer|option|choice|one))?|answer)(?![a-z])"
)
_WORD = f"(?<![^ \n\"'([{{<>*_`:,-])([^ .,;:!?\"'()\\[\\]{{}}<>*_`/+=^%{_ANY[1:-1]}-]+)"
WITH_OWN_TEXT: Final = f"{_WORD}[ .,:;)\\]}}>*_-]+({_TEXT})"
LABEL_ALONE: Final = (
    f"{_WORD}(?=[\"')\\]*_]*\\}}|[\"')\\]}}>*_`]*(?:$|[ \n](?:because|since|as|for|due|or|and)(?![a-z])|{_IS_GOOD}"
    f"|[.,;:!?][.,;:!?\"')\\]}}>*_`]*(?:[ \n]|$)))"
)
# One word may stand between a text and its label: "Sancho Panza (C)" where the text is Sancho.
WITH_LABEL: Final = (
    "[\ue000-\ue3ff\uec00](?: (?!(?:because|since|as|and|or|nor|not|but|than|unlike|like|is|are) )"
    f"[^ .,;:!?()\n\ue400-\uec00]+)?[ *_.,:}}\"']*({_LABEL})"
)
NEGATED: Final = (
    "((?:(?<![a-z])(?:not|neither|nor|never|than|instead of|unlike)|n't)"
    f"(?: (?:the|a|an|option|choice|answer))*[^a-z0-9\ue000-\uec00]*){_ANY}"
)
# A comma joins labels; behind a comma, a text is one more word of the sentence.
JOINED: Final = (
    f"({_ANY})[ *_\"']*(?:/|&|,? ?(?:or|and)(?![a-z])|,(?= ?[\ue400-\uebff]))[ *_\"']*(?:(?:the|a|an|option|choice) )*"
    f"({_ANY})"
)
_FILLERS = (
    "(?:[ \n\"'{<*_`:=,(\\[-]|(?:the|a|an|option|choice|answer|letter|number|label|statement|either|both|it is|it's|is"
    f"|that|{_ADVERB})(?=[ :])){{0,20}}"
)
# What says that the answer comes: no choice is named in it, even if one is the word "answer".
STATED: Final = (
    f"(?<![a-z])answer(?: choice| option)?(?: (?:to|for|of) [^.:?]{{1,60}}?)?{_IS}|<answer>"
    f"|(?<![a-z]){_GOOD} (?:option|choice|one|statement|letter|response){_IS}"
)
# That, a box, or what may begin mere reasoning; then what is right behind it. Or a choice stands before "is correct".
CUE: Final = (
    f"(?:({STATED})|(\\\\boxed ?\\{{)"
    "|(?<![a-z])(?:therefore|thus|hence|consequently|in conclusion|in summary|choose|select|pick|go with|i think"
    "|i believe|i'd say|i would say)(?![a-z]))"
    f"(?={_FILLERS}({_ANY})|)|({_ANY}){_CLOSE}{_IS_GOOD}"
)
NUMERIC: Final = r"^[ :=*{(\[+.-]*[0-9]"
FIRST_LABEL: Final = _LABEL
FIRST: Final = _ANY
WHOLE: Final = f"^{_FILLERS}({_ANY}){_CLOSE}$"
AT_THE_START: Final = f"^{_FILLERS}([\ue400-\uec00])"
AT_THE_END: Final = f"(?:(?<![a-z]){_BE}{_FILLERS}|(?={_LABEL}))({_ANY}){_CLOSE}$"
