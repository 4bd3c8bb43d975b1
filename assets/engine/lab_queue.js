/**
 * What one job of the Lab still has to work off, and a way to wait for more. Knows no job.
 *
 * @template T
 */

/** Said by a job that has nothing to do until more comes. */
export const WAITS = Symbol("waits");

/** @template T */
export class LabQueue {
  /** @param {T[]} items @param {boolean} isWhole no more come */
  constructor(items, isWhole) {
    this.items = items;
    this.isWhole = isWhole;
    this.wake = () => {};
  }

  /** @param {T[]} items @param {boolean} isWhole */
  add(items, isWhole) {
    this.items.push(...items);
    this.isWhole = isWhole;
    this.wake();
  }

  /** Until something comes, or the queue is ended. @returns {Promise<void>} */
  more() {
    return new Promise((resolve) => (this.wake = resolve));
  }
}

/**
 * Has problems worked off several at once.
 * @template T, R
 * @param {{hasRoom: boolean, isIdle: boolean, take: (item: T) => void, step: () => Generator<R|undefined, void, any>,
 *   end: () => void}} work
 * @param {LabQueue<T>} queue
 * @returns {Generator<R|undefined|typeof WAITS, void, any>} undefined after a pass over weights
 */
export function* workedOff(work, queue) {
  const { items } = queue;
  try {
    while (items.length || !work.isIdle || !queue.isWhole) {
      if (work.hasRoom) for (const item of items.splice(0, 1)) work.take(item);
      if (work.isIdle) yield WAITS;
      else yield* work.step();
    }
  } finally {
    work.end();
  }
}
