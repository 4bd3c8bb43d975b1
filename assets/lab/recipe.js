/**
 * The recipe of a router: which problems, whose text and which rule label them, what is trained, and where it is tried.
 * As the words of one sentence, and as an address. Pure.
 *
 * @typedef {Object} Recipe
 * @property {number} n problems to label
 * @property {string} of their format, or one kind of it: "math", "math/garden"
 * @property {string} rule of `LABEL_RULES`
 * @property {string} truth whose text and answer count
 * @property {string} net what is trained
 * @property {number} share of tokens for the LLM that the page speaks of
 * @property {string} ask the format of the unseen problems
 *
 * @typedef {keyof Recipe} Part
 * @typedef {Object} Break an experiment that spoils one part of the recipe
 * @property {string} title
 * @property {Partial<Recipe>} changes
 * @property {string} about what it does, before the question
 * @property {string} why what there is to see afterwards
 */

/** @type {Readonly<Recipe>} */
export const USUAL = { n: 100, of: "math", rule: "outcome", truth: "gold", net: "mlp-128", share: 0.05, ask: "math" };

export const FORMATS = /** @type {Record<string, string>} */ ({ math: "math stories", mc: "choice questions" });

/** What each part may be, and how the sentence says it. @type {Record<Part, [string|number, string][]>} */
export const CHOICES = {
  n: [10, 25, 50, 100, 200].map((n) => [n, String(n)]),
  of: Object.entries(FORMATS),
  rule: [
    ["outcome", "by outcome"],
    ["shortcut", "by the shortcut"],
    ["rollouts", "by the shortcut and rollouts"],
    ["outcome-llm", "by outcome, ties to the LLM"],
    ["agreement", "by agreement"],
  ],
  truth: [
    ["gold", "the known answer"],
    ["llm", "the LLM's own answer"],
  ],
  net: [
    ["linear", "one linear layer"],
    ["mlp-32", "32 neurons"],
    ["mlp-128", "128 neurons"],
  ],
  share: [0.02, 0.05, 0.1, 0.2].map((share) => [share, `${Math.round(100 * share)}%`]),
  ask: Object.entries(FORMATS),
};

/** What the reader of a label rule should know. @type {Record<string, string>} */
export const RULES_IN_WORDS = {
  outcome:
    "Where the two models would write different tokens, both are tried to the end. If only the LLM's token ends " +
    "right, it is labelled LLM. Everything else stays with the SLM. That is all that a router learns from.",
  shortcut:
    "Each token is compared with the true one: where the SLM has it, the label is SLM; where only the LLM has it, " +
    "LLM; where neither has it, the token is left out. Nothing is tried.",
  rollouts:
    "As the shortcut, and where neither model has the true token the SLM goes on alone: the label is SLM if it still " +
    "ends right. These are the labels of the paper's first round.",
  "outcome-llm":
    "As by outcome, but where both tokens end right the label is LLM. It asks for the LLM wherever it is no worse.",
  agreement: "Where the two models would write different tokens, the label is LLM. Nothing is tried.",
};

/** @type {Record<string, Break>} */
export const BREAKS = {
  shortcut: {
    title: "Shortcut labels",
    changes: { rule: "shortcut" },
    about: "The shortcut never tries anything: a token is the LLM's where only the LLM has the true one.",
    why:
      "Another word than the true one is no mistake by itself: most such texts still end right. The router learns " +
      "to ask for words, and has fewer calls left for the digits that decide.",
  },
  other: {
    title: "Train on math, ask choices",
    changes: { ask: "mc" },
    about: "The labels come from math stories, the unseen problems are choice questions.",
    why: "What makes a digit risky says little about a fact. A router is good where its labels are from.",
  },
  few: {
    title: "Ten problems",
    changes: { n: 10 },
    about: "Ten problems are labelled by outcome in place of a hundred.",
    why:
      "There are only a few labels for the LLM in ten problems, and two of the ten choose the pass that is kept. " +
      "Train it again with another number of problems: the result jumps.",
  },
  side: {
    title: "Always the LLM's side",
    changes: { rule: "outcome-llm" },
    about: "Where both tokens end right, the label is LLM: it can do no harm to ask for the better model.",
    why:
      "It does: calls are what is scarce. Most places where the models differ do not matter, and they use up the " +
      "share that the few others need.",
  },
  agreement: {
    title: "Labels from agreement",
    changes: { rule: "agreement" },
    about: "Every token at which the models differ is labelled LLM. No answer and no rollout is needed.",
    why:
      "The models differ at words that may be one or the other. That they differ is not that it matters, which is " +
      "what trying both to the end finds out.",
  },
};

const KIND = /^(math|mc)\/[a-z-]{1,30}$/;

/** The format of the problems that are labelled. @param {Recipe} recipe */
export const formatOf = ({ of }) => of.split("/")[0];

/** @param {Recipe} recipe */
export const inAddress = (recipe) =>
  new URLSearchParams(Object.entries(recipe).map(([part, value]) => [part, String(value)]));

/**
 * What a link asks for; what is none of the choices is as usual.
 * @param {string} search `location.search`
 * @returns {{recipe: Recipe, broken: string|null}} `broken` is a name of `BREAKS`
 */
export function readRecipe(search) {
  const query = new URLSearchParams(search);
  const broken = query.get("break") ?? "";
  if (Object.hasOwn(BREAKS, broken)) return { recipe: { ...USUAL, ...BREAKS[broken].changes }, broken };
  const recipe = Object.fromEntries(
    Object.entries(CHOICES).map(([part, choices]) => {
      const text = query.get(part) ?? "";
      const [found] = choices.find(([value]) => String(value) === text) ?? [];
      const isKind = part === "of" && KIND.test(text);
      return [part, found ?? (isKind ? text : USUAL[/** @type {Part} */ (part)])];
    }),
  );
  if (!query.has("ask")) recipe.ask = formatOf(/** @type {Recipe} */ (recipe));
  return { recipe: /** @type {Recipe} */ (recipe), broken: null };
}

/** A value as the sentence has it. @param {Part} part @param {Recipe} recipe @returns {string} */
export function inWords(part, recipe) {
  const found = CHOICES[part].find(([value]) => value === recipe[part]);
  return found ? found[1] : `${kindInWords(String(recipe[part]))}`;
}

/** One kind of problems. @param {string} of "math/garden" */
export const kindInWords = (of) => {
  const [format, kind] = of.split("/");
  return kind ? `${FORMATS[format]}: ${kind.replaceAll("-", " ")}` : FORMATS[format];
};
