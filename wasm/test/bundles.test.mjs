// Bundles of the package in real browsers, with and without a strict content security policy.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import test, { after, before } from "node:test";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import webpack from "webpack";
import { check, streaming } from "./aborts.mjs";
import { launched } from "./tabs-browser.mjs";

const page = (entry) => `
  import { tidegate } from "${entry}";
  const gate = tidegate();
  gate.fetch("/api").then((answer) => answer.text()).then((text) => (document.title = text), (error) => (document.title = String(error)));
`;

const STRICT = "default-src 'self'; script-src 'self'";
const WASM = `${STRICT} 'wasm-unsafe-eval'`;

const BUNDLERS = {
  esbuild: (entry, out) => esbuild({ entryPoints: [entry], outfile: path.join(out, "page.js"), bundle: true, minify: true, format: "esm" }),
  vite: (entry, out) => vite({
    configFile: false, logLevel: "error", root: path.dirname(entry),
    build: { outDir: out, emptyOutDir: false, rollupOptions: { input: entry, output: { entryFileNames: "page.js" } } },
  }),
  webpack: (entry, out) => new Promise((done, fail) => {
    webpack({ mode: "production", entry, output: { path: out, filename: "page.js" } }, (error, stats) => {
      if (error ?? stats.hasErrors()) fail(error ?? new Error(stats.toString()));
      else done();
    });
  }),
};

const browsers = {};
before(async () => {
  for (const [name, launch] of Object.entries(launched)) browsers[name] = await launch();
});
after(() => Promise.all(Object.values(browsers).map((browser) => browser.close())));

/** Bundles a page with an entry, serves it under a policy, and returns its final title. */
async function titleOf(t, browser, bundler, entry, policy) {
  // Inside this folder, so that the package is found.
  const folder = fs.mkdtempSync(path.join(import.meta.dirname, "node_modules/.page-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const source = path.join(folder, "source.js");
  fs.writeFileSync(source, page(entry));
  await BUNDLERS[bundler](source, folder);
  const files = {
    "/": ["text/html", '<!doctype html><title>wait</title><script type="module" src="/page.js"></script>'],
    "/page.js": ["text/javascript", fs.readFileSync(path.join(folder, "page.js"))],
    "/api": ["text/plain", "served"],
  };
  const server = createServer(({ url }, response) => {
    const [type, body] = files[url] ?? ["text/plain", ""];
    response.writeHead(200, { "content-type": type, ...(policy && { "content-security-policy": policy }) }).end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  const tab = await browsers[browser].newPage();
  t.after(() => tab.close());
  await tab.goto(`http://127.0.0.1:${server.address().port}/`);
  for (;;) {
    const title = await tab.title();
    if (title !== "wait") return title;
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

for (const [browser, bundler, entry, policy, title] of [
  ...Object.keys(BUNDLERS).map((bundler) => ["Chromium", bundler, "tidegate", undefined, /^served$/]),
  ...Object.keys(launched).flatMap((browser) => [
    [browser, "esbuild", "tidegate", WASM, /^served$/],
    [browser, "esbuild", "tidegate/lite", WASM, /^served$/],
    [browser, "esbuild", "tidegate", STRICT, /CompileError.*import tidegate\/js/],
    [browser, "esbuild", "tidegate/js", STRICT, /^served$/],
  ]),
]) {
  test(`a page that ${bundler} made with ${entry} ${title.test("served") ? "makes calls" : "fails with the way out"} in ${browser}, with the policy ${policy}`, async (t) => {
    assert.match(await titleOf(t, browser, bundler, entry, policy), title);
  });
}

/** A tab of a browser in which `program` has what this exports. */
async function tabWith(t, browser, contents) {
  const { outputFiles } = await esbuild({ stdin: { contents, resolveDir: import.meta.dirname }, bundle: true, format: "iife", globalName: "program", write: false });
  const tab = await browsers[browser].newPage();
  t.after(() => tab.close());
  await tab.addScriptTag({ content: outputFiles[0].text });
  return tab;
}

for (const [browser, unreadable, ended] of [["Chromium", /^TypeError: Failed to fetch/, "TypeError"], ["Firefox", /^TypeError: NetworkError/, "AbortError"], ["WebKit", /^TypeError: Load failed/, "TypeError"]]) {
  test(`an abort after the headers closes the connection in ${browser}`, async (t) => {
    // Without a media type, Firefox withholds the response until it has seen half a kilobyte of its body.
    const { url, seen } = await streaming(t, { "access-control-allow-origin": "*", "content-type": "application/json" });
    const tab = await tabWith(t, browser, 'export { abort } from "./abort.mjs";');
    // The error of a stream that breaks while its text is read is the browser's.
    await check(await tab.evaluate((url) => program.abort(url), url), seen, url, ended);
  });

  test(`a call that CORS rejects is sent three times in ${browser}, and an invalid one is not sent`, async (t) => {
    const { url, seen } = await streaming(t);
    const tab = await tabWith(t, browser, 'export { tidegate } from "tidegate";');
    const told = await tab.evaluate(async (url) => {
      const gate = program.tidegate({ law: "backoff", backoff: { base: 1, max: 1 } });
      const errors = await Promise.all([{}, { body: "x" }].map((init) => gate.fetch(`${url}last`, init).catch(({ name, message }) => `${name}: ${message}`)));
      return [gate.stats().admitted, ...errors];
    }, url);
    assert.match(told[1], unreadable);
    assert.match(told[2], /^TypeError: .*body/);
    assert.deepEqual([told[0], seen.length], [3, 3]);
  });
}
