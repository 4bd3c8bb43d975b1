/** Whether two names of weights are of the same ones; the mirror of `citer_core/models/same_pair.py`. Pure. */

/** @param {string} one @param {string} other `sample.whole`, or the sample alone where a name is older */
function isSameModel(one, other) {
  const [[sample, whole], [otherSample, otherWhole]] = [one.split("."), other.split(".")];
  return sample === otherSample && (whole === otherWhole || !whole || !otherWhole);
}

/** @param {string} one revision of a pair @param {string} other */
export function isSamePair(one, other) {
  const [halves, others] = [one.split("-"), other.split("-")];
  return halves.length === others.length && halves.every((half, i) => isSameModel(half, others[i]));
}
