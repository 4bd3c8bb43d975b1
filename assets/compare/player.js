/**
 * The one clock of all columns: how far it has come, and a hand that moves it.
 *
 * Must not know columns or what is drawn; its owner is told of each new place. A place is a share of the longest
 * column, from 0 to 1.
 */

const WHOLE_S = 9;

export class Player {
  place = 1;
  isPlaying = false;
  /** @type {number|null} */
  #last = null;
  #frame = 0;

  /** @param {(place: number) => void} onMove @param {(isPlaying: boolean) => void} onState */
  constructor(onMove, onState) {
    this.onMove = onMove;
    this.onState = onState;
  }

  /** From the start where it stands at the end. */
  play() {
    if (this.place >= 1) this.place = 0;
    this.#set(true);
    this.#last = null;
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  pause() {
    cancelAnimationFrame(this.#frame);
    this.#set(false);
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  /** @param {number} place from 0 to 1 */
  moveTo(place) {
    this.pause();
    this.place = place;
    this.onMove(place);
  }

  /** @param {number} now milliseconds */
  #tick(now) {
    if (this.#last !== null) this.place = Math.min(1, this.place + (now - this.#last) / 1000 / WHOLE_S);
    this.#last = now;
    this.onMove(this.place);
    if (this.place >= 1) this.pause();
    else this.#frame = requestAnimationFrame((later) => this.#tick(later));
  }

  /** @param {boolean} isPlaying */
  #set(isPlaying) {
    this.isPlaying = isPlaying;
    this.onState(isPlaying);
  }
}
