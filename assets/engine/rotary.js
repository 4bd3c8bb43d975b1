/**
 * Rotary positions: queries and keys are turned by angles that grow with the position.
 *
 * Angles are rounded to float32 where torch rounds them: at position 1,000 that is a difference of 1e-5. Pure.
 */

export class RotaryTables {
  /** @param {number} dim numbers of a head @param {number} theta @param {number} nPositions */
  constructor(dim, theta, nPositions) {
    this.half = dim / 2;
    this.cos = new Float32Array(nPositions * this.half);
    this.sin = new Float32Array(nPositions * this.half);
    const { fround } = Math;
    for (let i = 0; i < this.half; i++) {
      const frequency = fround(1 / fround(theta ** fround((2 * i) / dim)));
      for (let position = 0; position < nPositions; position++) {
        const angle = fround(position * frequency);
        this.cos[position * this.half + i] = Math.cos(angle);
        this.sin[position * this.half + i] = Math.sin(angle);
      }
    }
  }

  /**
   * Turns heads that lie side by side.
   * @param {Float32Array} floats @param {number} at place of the first @param {number} nHeads @param {number} position
   */
  turn(floats, at, nHeads, position) {
    const { half, cos, sin } = this;
    const angle = position * half;
    for (let head = at; head < at + 2 * half * nHeads; head += 2 * half) {
      for (let i = 0; i < half; i++) {
        const [c, s] = [cos[angle + i], sin[angle + i]];
        const [a, b] = [floats[head + i], floats[head + half + i]];
        floats[head + i] = a * c - b * s;
        floats[head + half + i] = b * c + a * s;
      }
    }
  }
}
