// For every test of the page: the built page on a real server, a real Chromium, and a list of
// everything that goes wrong.
//
//   const { url, sent } = await site(t);          // web-demo/dist under a sub-path, as any host has it
//   const { page, trouble } = await visit(t, url); // a reader; `trouble` must stay empty
//   const { url } = await live(t, "--law", "adaptive"); // the demo's own server, with the page

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { createServer as createVite } from "vite";

export const dist = path.join(import.meta.dirname, "../dist");
if (!fs.existsSync(path.join(dist, "index.html"))) throw new Error("the page is not built: run `cargo xtask build page`");

/** The timeout: much longer than anything takes on a busy machine, so that only hangs fail. */
const PATIENCE = 300_000;

const TYPES = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
  ".wasm": "application/wasm", ".svg": "image/svg+xml", ".json": "application/json", ".toml": "text/plain; charset=utf-8",
};

/** The folder of the page on its host. */
const under = "/some/where/";
const files = new Map();

/**
 * Serves the page under a subfolder, gzipped, as static hosts do. `sent` lists what went over the
 * wire, with headers.
 */
export async function site(test) {
  if (!files.size) {
    for (const name of fs.readdirSync(dist, { recursive: true })) {
      const file = path.join(dist, name);
      if (fs.statSync(file).isFile()) files.set(under + name.split(path.sep).join("/"), gzipSync(fs.readFileSync(file), { level: 9 }));
    }
  }
  const sent = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://host");
    const name = pathname === under ? `${under}index.html` : pathname;
    const body = files.get(name);
    const before = request.socket.bytesWritten;
    response.on("finish", () => sent.push({ name: name.slice(under.length), status: response.statusCode, bytes: request.socket.bytesWritten - before }));
    if (!body) return response.writeHead(404).end();
    response.writeHead(200, {
      "content-type": TYPES[path.extname(name)] ?? "application/octet-stream",
      "content-encoding": "gzip", "content-length": body.length,
    }).end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  test.after(() => (server.closeAllConnections(), server.close()));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return { url: origin + under, origin, sent };
}

let launched;

/** One browser for each test file. It resolves no host name. */
export function browser() {
  launched ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
  });
  return launched;
}
after(async () => (await launched)?.close());

/**
 * Opens the page in a new context. `trouble` lists errors of the console and of scripts, failed
 * requests, and requests to other origins that are not `allowed`.
 */
export async function visit(test, url, { width = 1280, height = 800, dark = false, still = false, script = true, allowed = () => false, before } = {}) {
  const context = await (await browser()).newContext({
    viewport: { width, height }, colorScheme: dark ? "dark" : "light",
    reducedMotion: still ? "reduce" : "no-preference", javaScriptEnabled: script,
  });
  test.after(() => context.close());
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const trouble = [];
  const own = new URL(url).origin;
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") trouble.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => trouble.push(`script: ${error}`));
  context.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (/^https?:/.test(protocol) && origin !== own && !allowed(origin)) trouble.push(`another origin: ${request.url()}`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) trouble.push(`${response.status()}: ${response.url()}`);
  });
  context.on("requestfailed", (request) => {
    // The page may cancel its own requests.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") trouble.push(`${request.failure()?.errorText}: ${request.url()}`);
  });
  await before?.(page);
  await page.goto(url, { waitUntil: "load" });
  return { page, context, trouble };
}

/** Records every layout shift, from before the page's scripts on: for `before` of `visit`. */
export const watchShifts = (page) => page.addInitScript(() => {
  globalThis.shifts = [];
  const name = (node) => node && `${node.nodeName.toLowerCase()}#${node.id ?? ""}.${node.className ?? ""}`;
  const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
  new PerformanceObserver((list) => {
    for (const { value, startTime, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      const moves = sources.map(({ node, previousRect, currentRect }) => `${name(node)}: ${place(previousRect)} to ${place(currentRect)}`);
      globalThis.shifts.push({ value, at: Math.round(startTime), moves });
    }
  }).observe({ type: "layout-shift", buffered: true });
});

/** Slows the main thread by a factor: for `before` of `visit`, or later. */
export async function slowDown(page, factor) {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: factor });
}

/** The shifts that `watchShifts` recorded. */
export const shiftsOf = (page) => page.evaluate(() => globalThis.shifts);

/** Presses a button that starts a run hundreds of times, each after this many ms: no elements, listeners or data stay. */
export async function leavesNothing(test, page, button, pause) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const press = (times) => page.evaluate(async ([button, pause, times]) => {
    for (let time = 0; time < times; time++) {
      document.querySelector(button).click();
      await new Promise((done) => setTimeout(done, pause));
    }
  }, [button, pause, times]);
  const counts = async () => {
    // Garbage is not collected at once.
    for (let time = 0; time < 5; time++) {
      await page.waitForTimeout(400);
      await session.send("HeapProfiler.collectGarbage");
    }
    const { metrics } = await session.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  await press(20);
  const before = await counts();
  await press(200);
  const after = await counts();
  for (const [name, more] of [["Nodes", 100], ["JSEventListeners", 4], ["JSHeapUsedSize", 2e6]]) {
    test.diagnostic(`${name}: ${before[name]} and ${after[name]}`);
    assert.ok(after[name] <= before[name] + more, name);
  }
}

/** Brings a part of the page into view and waits until it has been filled. */
export async function show(page, id) {
  await page.locator(`#${id}`).evaluate((element) => element.scrollIntoView({ behavior: "instant", block: "start" }));
  await page.waitForFunction((id) => document.getElementById(id).childElementCount > 0, id);
}

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong with the page as it is shown. */
export async function violations(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
  return violations.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join("\n")}`);
}

/** The elements that are wider than the window, from left to right and from right to left. */
export async function beyond(page) {
  const found = [];
  for (const direction of ["rtl", "ltr"]) {
    found.push(...await page.evaluate((direction) => {
      document.documentElement.dir = direction;
      const { clientWidth: width, scrollWidth } = document.documentElement;
      const scrolls = (element) => element && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
      const wide = [...document.querySelectorAll("body *")].filter((element) => {
        const { left, right } = element.getBoundingClientRect();
        return (right > width + 1 || left < -1) && !scrolls(element.parentElement);
      });
      return [...wide.map((element) => `${direction}: ${element.outerHTML.slice(0, 100)}`), ...(scrollWidth > width ? [`${direction}: ${scrollWidth} pixels`] : [])];
    }, direction));
  }
  return found;
}

/** The controls that the Tab key does not reach, and those that do not show their focus. */
export async function unreached(page) {
  const expected = await page.evaluate(() => {
    const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
    // Of a group of radio buttons, Tab reaches one.
    const seen = controls.filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && !(element.type === "radio" && !element.checked));
    seen.forEach((element, index) => { element.dataset.stop = index; });
    document.body.tabIndex = -1;
    document.body.focus();
    return seen.length;
  });
  const [reached, found] = [new Set(), []];
  for (let presses = 0; presses < 3 * expected && reached.size < expected; presses++) {
    await page.keyboard.press("Tab");
    const { stop, shown, html } = await page.evaluate(() => {
      const { activeElement: element } = document;
      // A hidden radio button shows its focus on its label.
      const { outlineStyle, outlineWidth } = getComputedStyle(element.type === "radio" ? element.closest("label") : element);
      return { stop: element.dataset.stop, shown: outlineStyle !== "none" && parseFloat(outlineWidth) >= 1, html: element.outerHTML.slice(0, 120) };
    });
    if (stop !== undefined) reached.add(stop);
    if (!shown && !html.startsWith("<body")) found.push(`no focus: ${html}`);
  }
  const missed = await page.evaluate((reached) => [...document.querySelectorAll("[data-stop]")]
    .filter((element) => !reached.includes(element.dataset.stop) && !element.disabled).map((element) => `not reached: ${element.outerHTML.slice(0, 120)}`), [...reached]);
  return [...found, ...missed];
}

/** Starts the demo's own server with the built page, and stops it when the test ends. */
export async function live(test, ...options) {
  const program = process.env.TIDEGATE_LIVE;
  if (!program) throw new Error("TIDEGATE_LIVE is not set: run `cargo xtask test web`");
  const port = options.includes("--page-port") ? [] : ["--page-port", "0"];
  const child = spawn(program, ["demo", ...port, "--page-folder", dist, ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise((done) => child.once("exit", done));
  const stop = async () => {
    child.kill("SIGINT");
    const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
    await gone;
    clearTimeout(late);
  };
  test.after(stop);
  const url = await new Promise((done, fail) => {
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => /^the page +(\S+)/.test(line) && done(line.split(/ +/)[2]));
    child.once("exit", (code) => fail(new Error(`the demo ended with ${code}`)));
  });
  /** The latest report, as the page receives it. */
  const moment = async () => (await fetch(new URL("api", url))).json();
  return { url, stop, moment };
}

const scenarios = path.join(import.meta.dirname, "../../tools/sim/scenarios");

/** A scenario file of the repository. */
export const scenario = (name) => fs.readFileSync(path.join(scenarios, `${name}.toml`), "utf8");

/** A module of the simulator as the page loads it. `Simulator` is the page's class. */
export async function simulator(Simulator, part) {
  const module = await WebAssembly.compile(fs.readFileSync(path.join(import.meta.dirname, `../../target/page/${part}.wasm`)));
  return new Simulator(new WebAssembly.Instance(module).exports);
}

/** The page's sources, by their paths, without a browser. */
export async function sources(...names) {
  const vite = await createVite({
    root: path.join(import.meta.dirname, ".."), appType: "custom", logLevel: "error", configFile: false,
    server: { middlewareMode: true, hmr: false, ws: false, watch: null }, optimizeDeps: { noDiscovery: true, include: [] },
  });
  after(() => vite.close());
  return Promise.all(names.map((name) => vite.ssrLoadModule(`/src/${name}.ts`)));
}
