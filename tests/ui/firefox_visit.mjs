/**
 * A visit in Firefox: what a page draws and does there, and every complaint. `node tests/ui/firefox_visit.mjs` with
 * {"firefox": path, "url": address, "views": [names]} on its standard input; the findings as JSON on its output.
 */

import { readFileSync } from "node:fs";

import puppeteer from "puppeteer-core";

const PATIENCE_MS = 120_000;
const { firefox, url, views } = JSON.parse(readFileSync(0, "utf8"));

const browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true });
const complaints = [];
const found = { version: await browser.version(), complaints, views: {} };
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.setViewport({ width: 1280, height: 900 });
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  // A page's own policy allows no text to become a function, so questions go by polling.
  const until = async (what, ask, ...args) => {
    for (const end = Date.now() + PATIENCE_MS; !(await page.evaluate(ask, ...args));) {
      if (Date.now() > end) throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await page.goto(url);
  await until("a token", () => document.querySelectorAll(".citer-viewer .cv-t").length > 0);
  await until("the page's script", () => window.citer?.browser);
  await page.mouse.move(5, 5); // the pair is loaded at a person's first sign
  await until("the pair in the browser", () => window.citer?.browser.client?.state === "ready");

  // Tau alive: at 0 every token is the SLM's, and none is guessed.
  await page.evaluate(() => window.citer.moveTau(0));
  await until(
    "the text at another tau",
    () => window.citer.viewer.view.runTau === 0 && !window.citer.browser.live.isBusy,
  );
  found.atZero = await page.evaluate(() => ({
    writers: [...new Set(window.citer.viewer.events.map(({ source }) => source))],
    nGuessed: document.querySelectorAll(".cv-text .cv-hyp").length,
  }));

  await page.evaluate(() => document.querySelector("button#cx-generate").click());
  await until("a run's first token", () => window.citer.isLive || window.citer.viewer.view.origin === null);
  await until("a run's end", () => !window.citer.isLive && !window.citer.isStarting && window.citer.viewer.trace());
  found.trace = await page.evaluate(() => window.citer.viewer.trace());

  for (const [name, drawn] of Object.entries(views)) {
    await page.evaluate((view) => window.citer.views.go(view), name);
    await until(`the view ${name}`, (selector) => document.querySelector(selector)?.checkVisibility(), drawn);
    found.views[name] = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(found));
