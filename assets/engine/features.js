/**
 * What a router may look at, and what it is.
 *
 * Types alone: `routers.js` and `stored_router.js` are routers, `decode.js` asks them.
 *
 * @typedef {Object} RouterFeatures
 * @property {import("./distribution.js").Distribution} slm the SLM's at this position
 * @property {number} hidden place of the SLM's last hidden state
 * @property {Float32Array|null} promptHidden the SLM's state at the prompt's end, for routers with `usesPrompt`
 * @property {number[]} promptIds
 * @property {number} position tokens written before this one
 * @property {number|null} llmEntropy in nats, of the LLM at the token before; null where it did not write it
 * @property {import("./distribution.js").Distribution|null} llm the LLM's here, for routers with `readsLlm`
 *
 * @typedef {Object} Router
 * @property {string} name
 * @property {string} label for people
 * @property {string} revision of its weights, "" where it has none
 * @property {number} nParams
 * @property {boolean} readsLlm needs the LLM at every position, which is counted
 * @property {boolean} usesLlmEntropy so its confidence depends on who wrote the tokens before
 * @property {boolean} usesPrompt
 * @property {number} defaultThreshold a tau to start from
 * @property {(features: RouterFeatures) => NonNullable<Inside["layers"]>} [layers] what it computes, if it has layers
 * @property {number} slmPrior how often the SLM is to be preferred; its confidence is as if it were every second time
 * @property {(features: RouterFeatures) => number} confidence in [0, 1], that the SLM is to be preferred
 */

export {};
