// For every test of the page: the built page on a real server, a real Chromium, and a list of
// everything that goes wrong.
//
//   const { url, sent } = await site(t);          // web-demo/dist under a sub-path, as any host has it
//   const { page, trouble } = await visit(t, url); // a reader; `trouble` must stay empty
//   const { url } = await live(t, "--law", "adaptive"); // the demo's own server, with the page

import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

export const dist = path.join(import.meta.dirname, "../dist");
if (!fs.existsSync(path.join(dist, "index.html"))) throw new Error("the page is not built: run `cargo xtask build page`");

/** The maximum size of the first load, in bytes over the wire. */
export const MOST = 60_000;

/** The timeout: much longer than anything takes on a busy machine, so that only hangs fail. */
const PATIENCE = 300_000;

const TYPES = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
  ".wasm": "application/wasm", ".svg": "image/svg+xml", ".json": "application/json", ".toml": "text/plain; charset=utf-8",
};

/**
 * Serves the page under a subfolder, gzipped, as static hosts do. `sent` lists what went over the
 * wire, with headers.
 */
export async function site(test, { under = "/some/where/" } = {}) {
  const files = new Map();
  for (const name of fs.readdirSync(dist, { recursive: true })) {
    const file = path.join(dist, name);
    if (fs.statSync(file).isFile()) files.set(under + name.split(path.sep).join("/"), gzipSync(fs.readFileSync(file), { level: 9 }));
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

/** Brings a part of the page into view and waits until it has been filled. */
export async function show(page, id) {
  await page.locator(`#${id}`).evaluate((element) => element.scrollIntoView({ behavior: "instant", block: "start" }));
  await page.waitForFunction((id) => document.getElementById(id).childElementCount > 0, id);
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

/** Runs the native simulator, and returns what it prints as JSON. */
export async function simulate(...options) {
  const program = process.env.TIDEGATE_SIM;
  if (!program) throw new Error("TIDEGATE_SIM is not set: run `cargo xtask test web`");
  const { stdout } = await promisify(execFile)(program, ["run", ...options, "--json"], { maxBuffer: 1 << 26 });
  return JSON.parse(stdout);
}
