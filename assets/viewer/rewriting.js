/**
 * The run on the screen, written again under moved dials: takes its place until they are back where it was written.
 *
 * Must not know who writes; the page says when it is being written and what has come.
 */

export class Rewriting {
  /** @type {WeakMap<RunView, Trace>} one object for a run, as often as it is asked for */
  #known = new WeakMap();

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
  }

  /** The finished run that the dials move over; null where there is none. @returns {Trace|null} */
  get origin() {
    const { view } = this.viewer;
    if (view.origin) return view.origin;
    if (view.live || view.isComing || view.finishReason === null) return null;
    const trace = this.#known.get(view) ?? view.trace();
    if (trace) this.#known.set(view, trace);
    return trace;
  }

  /** Whether the text for where the dials stand is on its way. @param {boolean} isPending */
  setPending(isPending) {
    const { view } = this.viewer;
    if (view.isPending === isPending) return;
    view.isPending = isPending;
    this.viewer.schedule("all");
  }

  /** @param {Trace} trace of the same problem under other dials */
  show(trace) {
    const { origin } = this;
    if (origin) this.#replace(trace, origin);
  }

  /** The dials are back: the run as it was. */
  back() {
    const { origin } = this.viewer.view;
    if (origin) this.#replace(origin, null);
  }

  /**
   * The reader stays at the place, and the token that is pinned stays pinned.
   * @param {Trace} trace @param {Trace|null} origin
   */
  #replace(trace, origin) {
    const { viewer } = this;
    const { scroller } = viewer.tokens;
    const [place, { pinned }] = [scroller.scrollTop, viewer.view];
    viewer.show(trace, { origin });
    if (place > 0) scroller.scrollTop = place;
    if (pinned === null || pinned >= viewer.view.n) return;
    viewer.view.pinned = pinned;
    viewer.focusChanged();
    viewer.options.onPin?.(pinned);
  }
}
