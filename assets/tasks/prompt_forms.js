/**
 * What models read before a question and after it. Data only, made by `python -m citer_core.tasks.prompt_forms_js`:
 * change `citer_core/tasks/prompts.py`, not this file.
 */

export const PROMPT_FORMS = {
  version: 1,
  maxChars: 20000,
  math: [
    "Solve the problem step by step in LaTeX. Put the final answer in \\boxed{}.",
    "Question: {question}",
    "Solution:",
  ],
  mc: [
    "Question: {question}",
    "Choices:",
    "{label}. {text}",
    'Reply in the form "[Explanation]. Therefore, the answer is answer (label)."',
    "Answer and Reasoning:",
  ],
};
