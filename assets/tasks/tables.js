/**
 * What models read before a question and after it, and how answers may be written. Data only, made by
 * `python -m citer_core.tasks.tables_js`: change `citer_core/tasks/prompts.py` or `answer_patterns.py`, not this file.
 */

/* eslint citer/columns: off */

// prettier-ignore
export const PROMPT_FORMS = {
  version: 1,
  maxChars: 20000,
  math: ["Solve the problem step by step in LaTeX. Put the final answer in \\boxed{}.", "Question: {question}", "Solution:"],
  mc: ["Question: {question}", "Choices:", "{label}. {text}", "Reply in the form \"[Explanation]. Therefore, the answer is answer (label).\"", "Answer and Reasoning:"],
};

// prettier-ignore
export const ANSWER_PATTERNS = {
  cleaned: [["[\ue000-\uf8ff]", ""], ["[\u2018\u2019\u02bc\u2032]", "'"], ["[\u201c-\u201f\u00ab\u00bb]", "\""], ["[\u2010-\u2013\u2212]", "-"], [" *[\u2014\u2015] *", " - "], ["[\u3002\uff61]", "."], ["[\u3010\u3014\u300c\u300e\u3008]", "["], ["[\u3011\u3015\u300d\u300f\u3009]", "]"], ["\u00b2", "^2"], ["\u00b3", "^3"], ["\u03c0", "\\pi "], ["\u221e", "\\infty "], ["\u221a", "\\sqrt "], ["\u2264", "\\le "], ["\u2265", "\\ge "], ["\u00d7", "\\times "], ["\u00b7", "\\cdot "], ["\u00f7", "/"], ["\\^? *\\{? *\\\\circ(?![a-zA-Z]) *\\}?|\\\\degree(?![a-zA-Z])", "\u00b0"], ["(?<!\\\\)\\\\(?:displaystyle|left|right|[!()\\[\\]])(?![a-zA-Z])", ""], ["\\\\[dt]frac(?![a-zA-Z])", "\\frac"], ["(?<!\\\\)\\\\[,;: ]|\\\\quad(?![a-zA-Z])|~", " "], ["\\\\?\\$|[\\u00a3\\u00a5\\u20ac]", ""], ["\\\\%", "%"], ["</[aA]nswer>", " "], ["\\{,\\}", ","], [" +", " "]],
  wrap: "\\\\(?:text(?:bf|it|rm|tt|sf)?|math(?:rm|bf|it|sf|tt)|mbox|boldsymbol|bm|bf|rm)(?![a-zA-Z]) *(?=\\{)",
  plainer: [["\\\\(?:text(?:bf|it|rm|tt|sf)?|math(?:rm|bf|it|sf|tt)|mbox|boldsymbol|bm|bf|rm)(?![a-zA-Z]) *(?=\\{)\\{([^{}]*)\\}", "$1"], ["\\^ ?\\{(-?[0-9a-zA-Z]+)\\}", "^$1"], ["\\\\frac ?\\{([0-9a-zA-Z]+)\\} ?\\{([0-9a-zA-Z]+)\\}", "$1/$2"]],
  grouped: "^[+-]?[0-9]{1,3}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+)(?:\\.[0-9]*)?$",
  number: "^[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)$",
  prose: "^(?:yes|no|[a-z0-9 .,'-]*[a-z]{4}[a-z0-9 .,'-]*)$",
  looseSpace: "(?<![0-9]) | (?![0-9])",
  before: "(?:^|[ \n]|<answer>|\\\\boxed)[\"'([{<*_`]*$",
  behind: "^(?! ?(?:\\\\times|\\\\cdot|[-+*/=^]) ?[0-9])[.,;:!?\"')\\]}>*_`]*(?:[ \n]|$)",
  operator: " ?(\\\\(?:times|cdot|le|ge)(?![a-zA-Z])|[-+/=<>]) ?",
  sumBefore: "[0-9)] ?(?:\\\\times|\\\\cdot|[-+*/^]) ?$",
  newQuestion: "\\n[ \\t]*Question:",
  bracketed: "[(\\[] ?([^ ()\\[\\]]{1,20}) ?[)\\]]",
  text: 57344,
  label: 58368,
  bare: 59392,
  noChoice: 60416,
  withOwnText: "(?<![^ \n\"'([{<>*_`:,-])([^ .,;:!?\"'()\\[\\]{}<>*_`/+=^%\ue000-\uec00-]+)[ .,:;)\\]}>*_-]+([\ue000-\ue3ff])",
  labelAlone: "(?<![^ \n\"'([{<>*_`:,-])([^ .,;:!?\"'()\\[\\]{}<>*_`/+=^%\ue000-\uec00-]+)(?=[\"')\\]*_]*\\}|[\"')\\]}>*_`]*(?:$|[ \n](?:because|since|as|for|due|or|and)(?![a-z])| (?:is|must be|would be|should be) (?:(?:most likely|probably|clearly|definitely|therefore|thus|simply|also|indeed|still) )*(?:the )?(?:(?:correct|right|best|final|only|true|proper|appropriate|suitable)(?: (?:answer|option|choice|one))?|answer)(?![a-z])|[.,;:!?][.,;:!?\"')\\]}>*_`]*(?:[ \n]|$)))",
  withLabel: "[\ue000-\ue3ff\uec00](?: (?!(?:because|since|as|and|or|nor|not|but|than|unlike|like|is|are) )[^ .,;:!?()\n\ue400-\uec00]+)?[ *_.,:}\"']*([\ue400-\ue7ff])",
  negated: "((?:(?<![a-z])(?:not|neither|nor|never|than|instead of|unlike)|n't)(?: (?:the|a|an|option|choice|answer))*[^a-z0-9\ue000-\uec00]*)[\ue000-\uec00]",
  joined: "([\ue000-\uec00])[ *_\"']*(?:/|&|,? ?(?:or|and)(?![a-z])|,(?= ?[\ue400-\uebff]))[ *_\"']*(?:(?:the|a|an|option|choice) )*([\ue000-\uec00])",
  stated: "(?<![a-z])answer(?: choice| option)?(?: (?:to|for|of) [^.:?]{1,60}?)?[\\x22'*_)\\]}]* ?(?:is|:|=|would be|should be|must be|will be|has to be|seems(?: to be)?|was)(?![a-z'])|<answer>|(?<![a-z])(?:correct|right|best|final|only|true|proper|appropriate|suitable) (?:option|choice|one|statement|letter|response)[\\x22'*_)\\]}]* ?(?:is|:|=|would be|should be|must be|will be|has to be|seems(?: to be)?|was)(?![a-z'])",
  cue: "(?:((?<![a-z])answer(?: choice| option)?(?: (?:to|for|of) [^.:?]{1,60}?)?[\\x22'*_)\\]}]* ?(?:is|:|=|would be|should be|must be|will be|has to be|seems(?: to be)?|was)(?![a-z'])|<answer>|(?<![a-z])(?:correct|right|best|final|only|true|proper|appropriate|suitable) (?:option|choice|one|statement|letter|response)[\\x22'*_)\\]}]* ?(?:is|:|=|would be|should be|must be|will be|has to be|seems(?: to be)?|was)(?![a-z']))|(\\\\boxed ?\\{)|(?<![a-z])(?:therefore|thus|hence|consequently|in conclusion|in summary|choose|select|pick|go with|i think|i believe|i'd say|i would say)(?![a-z]))(?=(?:[ \n\"'{<*_`:=,(\\[-]|(?:the|a|an|option|choice|answer|letter|number|label|statement|either|both|it is|it's|is|that|(?:most likely|probably|clearly|definitely|therefore|thus|simply|also|indeed|still))(?=[ :])){0,20}([\ue000-\uec00])|)|([\ue000-\uec00])[.,;:!?\"')\\]}>*_` ]* (?:is|must be|would be|should be) (?:(?:most likely|probably|clearly|definitely|therefore|thus|simply|also|indeed|still) )*(?:the )?(?:(?:correct|right|best|final|only|true|proper|appropriate|suitable)(?: (?:answer|option|choice|one))?|answer)(?![a-z])",
  numeric: "^[ :=*{(\\[+.-]*[0-9]",
  firstLabel: "[\ue400-\ue7ff]",
  first: "[\ue000-\uec00]",
  whole: "^(?:[ \n\"'{<*_`:=,(\\[-]|(?:the|a|an|option|choice|answer|letter|number|label|statement|either|both|it is|it's|is|that|(?:most likely|probably|clearly|definitely|therefore|thus|simply|also|indeed|still))(?=[ :])){0,20}([\ue000-\uec00])[.,;:!?\"')\\]}>*_` ]*$",
  atTheStart: "^(?:[ \n\"'{<*_`:=,(\\[-]|(?:the|a|an|option|choice|answer|letter|number|label|statement|either|both|it is|it's|is|that|(?:most likely|probably|clearly|definitely|therefore|thus|simply|also|indeed|still))(?=[ :])){0,20}([\ue400-\uec00])",
  atTheEnd: "(?:(?<![a-z])(?:is|:|=|would be|should be|must be|will be|has to be|seems(?: to be)?|was)(?![a-z'])(?:[ \n\"'{<*_`:=,(\\[-]|(?:the|a|an|option|choice|answer|letter|number|label|statement|either|both|it is|it's|is|that|(?:most likely|probably|clearly|definitely|therefore|thus|simply|also|indeed|still))(?=[ :])){0,20}|(?=[\ue400-\ue7ff]))([\ue000-\uec00])[.,;:!?\"')\\]}>*_` ]*$",
};
