/**
 * Keeps the site's files. `FILES` and `EDITION` stand before this text: the paths, those that a page needs at once
 * first, and a name that says what is in them.
 */

/* global FILES, EDITION */

/**
 * @typedef {Object} KeeperEvent
 * @property {Request} request
 * @property {(done: Promise<unknown>) => void} waitUntil
 * @property {(answer: Promise<Response>) => void} respondWith
 */

const scopeOfWorker = /** @type {any} */ (globalThis);

/** @param {string[]} paths */
async function keep(paths) {
  const cache = await caches.open(EDITION);
  for (const path of paths) if (!(await cache.match(path))) await cache.add(path);
}

scopeOfWorker.addEventListener("install", (/** @type {KeeperEvent} */ event) =>
  event.waitUntil(keep(FILES.first).then(() => scopeOfWorker.skipWaiting())),
);
scopeOfWorker.addEventListener("activate", (/** @type {KeeperEvent} */ event) =>
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name !== EDITION).map((name) => caches.delete(name))))
      .then(() => scopeOfWorker.clients.claim()),
  ),
);
scopeOfWorker.addEventListener("message", (/** @type {KeeperEvent} */ event) => event.waitUntil(keep(FILES.later)));
scopeOfWorker.addEventListener("fetch", (/** @type {KeeperEvent} */ event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin) return;
  const isPage = event.request.mode === "navigate";
  event.respondWith(
    caches
      .open(EDITION)
      .then((cache) => cache.match(isPage ? "./" : event.request, { ignoreSearch: isPage }))
      .then((kept) => kept ?? fetch(event.request)),
  );
});
