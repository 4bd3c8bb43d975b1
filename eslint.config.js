/** What `make lint` holds JavaScript to. Layout is prettier's; types are TypeScript's (`tsconfig.json`). */

import js from "@eslint/js";
import globals from "globals";

const COLUMNS = 120;

/** No line of code, comment or text is longer: prettier wraps code only. */
const columns = {
  meta: { type: "layout", schema: [], messages: { long: "This line has {{n}} columns; at most {{most}} fit." } },
  create(context) {
    return {
      Program() {
        context.sourceCode.lines.forEach((line, i) => {
          const n = [...line].length;
          if (n <= COLUMNS) return;
          const at = { line: i + 1, column: COLUMNS };
          context.report({ loc: at, messageId: "long", data: { n: String(n), most: String(COLUMNS) } });
        });
      },
    };
  },
};

export default [
  js.configs.recommended,
  {
    plugins: { citer: { rules: { columns } } },
    linterOptions: { reportUnusedDisableDirectives: "error", reportUnusedInlineConfigs: "error" },
    rules: {
      "citer/columns": "error",
      "max-lines": ["error", 400],
      "array-callback-return": "error",
      "consistent-return": "off", // TypeScript sees what comes back
      "default-case-last": "error",
      "dot-notation": "error",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-alert": "error",
      "no-console": "error",
      "no-constructor-return": "error",
      "no-else-return": "error",
      "no-eval": "error",
      "no-implicit-coercion": "error",
      "no-implied-eval": "error",
      "no-lonely-if": "error",
      "no-new-func": "error",
      "no-promise-executor-return": "off",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({
          property,
          message: "Text reaches the page through text nodes only.",
        })),
      ],
      "no-self-compare": "error",
      "no-shadow-restricted-names": "error",
      "no-template-curly-in-string": "error",
      "no-throw-literal": "error",
      "no-undef-init": "error",
      "no-unneeded-ternary": "error",
      "no-unused-expressions": ["error", { allowShortCircuit: true, allowTernary: true }],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-useless-concat": "error",
      "no-useless-rename": "error",
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      "prefer-object-has-own": "error",
    },
  },
  { files: ["assets/**/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["tests/**/*.mjs"], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
  { files: ["tests/**/*.mjs"], rules: { "no-console": "off", "no-template-curly-in-string": "off" } },
];
