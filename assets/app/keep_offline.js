/** Has the site's service worker keep its files, so that the next visit needs no server. */

/**
 * @param {string} worker address of its script
 * @returns {Promise<void>} when it keeps what this page loads; at once where there are no service workers
 */
export async function keepOffline(worker) {
  if (!navigator.serviceWorker) return;
  try {
    await navigator.serviceWorker.register(worker);
    const { active } = await navigator.serviceWorker.ready;
    active?.postMessage("keep the rest");
  } catch {
    // as in private windows, or from a file: the page is the same while there is a network
  }
}
