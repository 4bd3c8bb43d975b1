/** The site's service worker beside other sites of its origin, and after an update. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const TEXT = readFileSync(new URL("../../assets/app/service_worker.js", import.meta.url), "utf8");
const ROOT = "https://somebody.example/citer/";

/** The worker of an edition, in a browser that has only what it needs. @param {string} edition @param {any} stored */
function worker(edition, stored) {
  /** @type {Record<string, Function>} */
  const heard = {};
  const asked = [];
  const caches = {
    keys: async () => Object.keys(stored),
    delete: async (name) => delete stored[name],
    open: async (name) => ({
      match: async (request) => (stored[name] ?? {})[new URL(request.url ?? request, ROOT).href],
      add: async (request) => {
        asked.push(request.cache);
        (stored[name] ??= {})[new URL(request.url, ROOT).href] = `kept ${request.url}`;
      },
    }),
  };
  class Request {
    constructor(url, { cache }) {
      Object.assign(this, { url, cache });
    }
  }
  const self = {
    caches, Request, URL, location: new URL(`${ROOT}service_worker.js`),
    fetch: async (request) => `network ${request.url}`,
    addEventListener: (name, listener) => (heard[name] = listener), skipWaiting: () => {}, clients: { claim: () => {} },
  }; // prettier-ignore
  const files = JSON.stringify({ first: ["./", "page.js"], later: ["model.bin"] });
  vm.runInNewContext(`const FILES = ${files}; const EDITION = ${JSON.stringify(edition)};\n${TEXT}`, self);
  const waited = async (name, event = {}) => {
    let answer;
    heard[name]({ ...event, waitUntil: (done) => (answer = done), respondWith: (done) => (answer = done) });
    return answer;
  };
  const get = (path, mode = "no-cors") =>
    waited("fetch", { request: { method: "GET", mode, url: new URL(path, ROOT).href } });
  return { waited, get, asked };
}

test("an update keeps new files past the browser's cache and deletes this site's old ones only", async () => {
  const stored = { "another site": {}, "citer /citer/ old": {}, "citer /other/ old": {} };
  const { waited, asked } = worker("new", stored);
  await waited("install");
  await waited("activate");
  await waited("message");
  assert.deepEqual(Object.keys(stored), ["another site", "citer /other/ old", "citer /citer/ new"]);
  assert.deepEqual(asked, ["reload", "reload", "reload"]);
});

test("only the root is the page, and what is not kept is asked for", async () => {
  const { waited, get } = worker("new", {});
  await waited("install");
  assert.equal(await get("./", "navigate"), "kept ./");
  assert.equal(await get("nowhere", "navigate"), "network https://somebody.example/citer/nowhere");
  assert.equal(await get("page.js"), "kept page.js");
  assert.equal(await get("/elsewhere/", "navigate"), undefined, "another site's");
});
