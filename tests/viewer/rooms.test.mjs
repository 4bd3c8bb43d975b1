import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ASSETS = fileURLToPath(new URL("../../assets", import.meta.url));

/** What each room may import from beside itself. Nothing imports the app but Evidence, which makes links. */
const MAY_IMPORT = {
  run: [],
  tasks: [],
  engine: ["run", "tasks"],
  transport: ["run", "tasks", "engine"],
  viewer: ["run"],
  inside: ["run", "viewer"],
  share: ["run", "viewer"],
  app: ["run", "tasks", "engine", "transport", "viewer", "share"],
  compare: ["run", "viewer"],
  labels: ["run", "tasks", "transport", "viewer", "share"],
  learn: ["run", "viewer"],
  class: ["run", "transport", "viewer", "share", "learn"],
  profile: ["run", "viewer"],
  evidence: ["run", "transport", "viewer", "share", "app"],
  lab: ["run", "tasks", "transport", "viewer", "class"],
};
/** What the page fetches when a person asks for it, and not before. */
const VIEWS = ["compare", "lab", "labels", "evidence", "profile", "learn", "class"];
const LATER = [
  "app/page_viewer.js -> inside/inside.js",
  "app/page.js -> app/own_routers.js",
  "lab/lab.js -> class/answer_card.js",
  "app/page.js -> app/page_compare.js",
  "app/page.js -> learn/lesson.js",
  "app/page.js -> learn/tour.js",
  "app/page.js -> learn/presenter.js",
  "learn/lesson.js -> class/answer_card.js",
  "learn/predict.js -> class/answer_card.js",
  ...VIEWS.map((name) => `app/page_views.js -> ${name}/${name}.js`),
];

const code = (file) => readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
const modulesOf = (room) =>
  readdirSync(path.join(ASSETS, room))
    .filter((name) => name.endsWith(".js"))
    .map((name) => `${room}/${name}`);

/** The imports of a module, as "app/page.js -> run/cost.js", at once or later. */
function importsOf(module, pattern) {
  const file = path.join(ASSETS, module);
  return [...code(file).matchAll(pattern)].map(
    ([, to]) => `${module} -> ${path.relative(ASSETS, path.resolve(path.dirname(file), to)).replaceAll(path.sep, "/")}`,
  );
}

const AT_ONCE = /(?:from|^import) "(\.[^"]+)"/gm;
const WHEN_ASKED = /\bimport\("(\.[^"]+)"\)/g;
const roomOf = (module) => module.split("/")[0];

test("every folder with modules is a room", () => {
  const found = readdirSync(ASSETS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && modulesOf(entry.name).length)
    .map((entry) => entry.name);
  assert.deepEqual(found.sort(), Object.keys(MAY_IMPORT).sort());
});

test("imports go one way", () => {
  let n = 0;
  for (const room of Object.keys(MAY_IMPORT)) {
    for (const module of modulesOf(room)) {
      const later = importsOf(module, WHEN_ASKED).filter((line) => !LATER.includes(line));
      for (const line of [...importsOf(module, AT_ONCE), ...later]) {
        n++;
        const to = roomOf(line.split(" -> ")[1]);
        assert.ok(to === room || MAY_IMPORT[room].includes(to), `${line}: ${room} must not know ${to}`);
      }
    }
  }
  assert.ok(n > 150, `${n} imports were found`);
});

test("what a run is and what decodes it need no document", () => {
  for (const module of ["run", "tasks", "engine", "transport"].flatMap(modulesOf)) {
    assert.doesNotMatch(
      code(path.join(ASSETS, module)),
      /\b(?:document|window|navigator)\??\.[a-z]|HTMLElement/,
      module,
    );
  }
});

test("of a run only its rules and forms are needed to decode one", () => {
  const needed = modulesOf("engine").flatMap((module) =>
    importsOf(module, AT_ONCE).map((line) => line.split(" -> ")[1]),
  );
  const ofRuns = [...new Set(needed.filter((module) => roomOf(module) === "run"))];
  const forms = ["cost", "decision", "dials", "gate", "kinds", "own_router", "trace_schema"];
  assert.deepEqual(
    ofRuns.sort(),
    forms.map((name) => `run/${name}.js`),
  );
});

test("modules of the engine are short", () => {
  for (const module of modulesOf("engine")) {
    const n = readFileSync(path.join(ASSETS, module), "utf8").split("\n").length;
    assert.ok(n <= 250, `${module} has more than 250 lines`);
  }
});

test("only the app knows the document's form", () => {
  for (const room of ["run", "engine", "viewer", "share", "labels", "compare"]) {
    for (const module of modulesOf(room)) {
      assert.doesNotMatch(code(path.join(ASSETS, module)), /#cx-tau|#cx-prompt|#cx-generate/, module);
    }
  }
});
