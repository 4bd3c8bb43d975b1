/**
 * Keeps the site's files. `FILES` and `EDITION` stand before this text: the paths, those that a page needs at once
 * first, and a name that says what is in them. Other sites may share the origin: only this one's caches and pages are
 * touched.
 */

/* global FILES, EDITION */

/**
 * @typedef {Object} KeeperEvent
 * @property {Request} request
 * @property {(done: Promise<unknown>) => void} waitUntil
 * @property {(answer: Promise<Response>) => void} respondWith
 */

const scopeOfWorker = /** @type {any} */ (globalThis);
const ROOT = new URL("./", location.href);
const OWN = `citer ${ROOT.pathname} `; // before the names of all caches of this site
const KEPT = OWN + EDITION;

/** @param {string[]} paths */
async function keep(paths) {
  const cache = await caches.open(KEPT);
  // Past the browser's own cache, which may hold the file of the edition before.
  for (const path of paths) if (!(await cache.match(path))) await cache.add(new Request(path, { cache: "reload" }));
}

scopeOfWorker.addEventListener("install", (/** @type {KeeperEvent} */ event) =>
  event.waitUntil(keep(FILES.first).then(() => scopeOfWorker.skipWaiting())),
);
scopeOfWorker.addEventListener("activate", (/** @type {KeeperEvent} */ event) =>
  event.waitUntil(
    caches
      .keys()
      .then((names) => names.filter((name) => name.startsWith(OWN) && name !== KEPT))
      .then((old) => Promise.all(old.map((name) => caches.delete(name))))
      .then(() => scopeOfWorker.clients.claim()),
  ),
);
scopeOfWorker.addEventListener("message", (/** @type {KeeperEvent} */ event) => event.waitUntil(keep(FILES.later)));
scopeOfWorker.addEventListener("fetch", (/** @type {KeeperEvent} */ event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== ROOT.origin || !url.pathname.startsWith(ROOT.pathname)) return;
  const isPage = event.request.mode === "navigate" && url.pathname === ROOT.pathname;
  event.respondWith(
    caches
      .open(KEPT)
      .then((cache) => cache.match(isPage ? "./" : event.request, { ignoreSearch: isPage }))
      .then((kept) => kept ?? fetch(event.request)),
  );
});
