// The whole page: its size and its accessibility.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";
import { MOST, shiftsOf, show, site, slowDown, visit, watchShifts } from "./harness.mjs";

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const runs = (page, id = "hammer") => page.waitForFunction((id) => document.getElementById(id).dataset.state === "runs", id);

/** Scrolls through the page from the top to the end, so that everything loads. */
async function read(page) {
  const step = 600;
  for (let at = 0; at < await page.evaluate(() => document.documentElement.scrollHeight); at += step) {
    await page.evaluate((top) => scrollTo({ top, behavior: "instant" }), at);
    await page.waitForTimeout(120);
  }
  for (const id of ["lab", "live"]) await show(page, id);
}

/** Opens all parts of the laboratory when it shows a run. */
async function unfold(page) {
  await page.waitForSelector("#lab[data-state=over]");
  await page.evaluate(() => document.querySelectorAll("#lab details").forEach((details) => { details.open = true; }));
}

test("the first load is no more than 60 kB over the wire", async (t) => {
  const { url, sent } = await site(t);
  const { page, trouble } = await visit(t, url);
  await runs(page);
  await page.waitForLoadState("networkidle");
  const all = sent.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { name, bytes } of sent) t.diagnostic(`${String(bytes).padStart(6)}  ${name || "(the page)"}`);
  t.diagnostic(`${String(all).padStart(6)}  in ${sent.length} files`);
  assert.ok(sent.some(({ name }) => name.endsWith(".wasm")), "the engine is among them");
  assert.ok(all <= MOST, `${all} bytes`);
  assert.deepEqual(trouble, []);
});

test("reading the page to its end causes no error, and contacts no other origin", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url);
  await read(page);
  await page.waitForLoadState("networkidle");
  assert.deepEqual(trouble, []);
});

test("without JavaScript the text can be read", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url, { script: false });
  const text = await page.innerText("main");
  assert.ok(text.length > 3000, `${text.length} characters`);
  assert.ok((await page.locator("h2").count()) >= 7);
  assert.match(await page.innerText("body"), /need JavaScript/);
  assert.deepEqual(trouble, []);
});

test("every link within the page has a target, and all others are well formed", async (t) => {
  const { url } = await site(t);
  const { page } = await visit(t, url, { still: true });
  await read(page);
  const links = await page.evaluate(() => [...document.querySelectorAll("[href], [src]")].map((element) => {
    const target = new URL(element.getAttribute("href") ?? element.getAttribute("src"), document.baseURI);
    const here = target.href.split("#")[0] === document.baseURI.split("#")[0];
    return { href: target.href, own: target.origin === location.origin, lost: here && target.hash !== "" && !document.getElementById(target.hash.slice(1)) };
  }));
  assert.ok(links.length > 20, `${links.length} links`);
  assert.deepEqual(links.filter(({ lost }) => lost), []);
  for (const { href, own } of links) {
    if (own) assert.equal((await fetch(href)).status, 200, href);
    else assert.match(href, /^(https:\/\/[\w-]+(\.[\w-]+)+\/|data:|blob:)/);
  }
});

for (const [name, options] of Object.entries({
  "in the light": {}, "in the dark": { dark: true }, "on a phone": { width: 360, height: 740 },
})) {
  test(`axe finds no violation ${name}`, async (t) => {
    const { url } = await site(t);
    // With reduced motion, a figure shows its end at once and its colours do not change.
    const { page } = await visit(t, url, { still: true, ...options });
    await read(page);
    await unfold(page);
    // All tables are alike and long.
    await page.evaluate(() => { document.querySelector("details").open = true; });
    await page.waitForTimeout(1500);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
    const told = violations.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join("\n")}`);
    assert.deepEqual(told, []);
  });
}

for (const width of [360, 768, 1920]) {
  test(`${width} pixels are wide enough`, async (t) => {
    const { url } = await site(t);
    const { page } = await visit(t, url, { width, still: true });
    await read(page);
    await unfold(page);
    const beyond = await page.evaluate(() => {
      const width = document.documentElement.clientWidth;
      const scrolls = (element) => element && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
      return [...document.querySelectorAll("body *")]
        .filter((element) => element.getBoundingClientRect().right > width + 1 && !scrolls(element.parentElement))
        .map((element) => element.outerHTML.slice(0, 100));
    });
    assert.deepEqual(beyond, []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
  });
}

test("nothing moves while the page loads and is read", async (t) => {
  for (const width of [360, 1280]) {
    const { url } = await site(t);
    const { page } = await visit(t, url, { width, before: watchShifts });
    await runs(page);
    await read(page);
    await show(page, "lab");
    await page.waitForTimeout(3_000);
    const shifts = await shiftsOf(page);
    t.diagnostic(`layout shift ${shifts.reduce((sum, { value }) => sum + value, 0).toFixed(4)} at ${width} pixels`);
    assert.deepEqual(shifts.filter(({ value }) => value >= 0.005), []);
  }
});

for (const [width, height] of [[360, 740], [1440, 900]]) {
  test(`a link to a part leads there and stays there at ${width} pixels, on a processor that is four times slower`, async (t) => {
    const { url } = await site(t);
    for (const id of ["real", "laboratory", "busy-title"]) {
      const { page } = await visit(t, `${url}#${id}`, { width, height, before: async (page) => {
        await watchShifts(page);
        await slowDown(page, 4);
      } });
      const place = () => page.locator(`#${id}`).evaluate((element) => Math.round(element.getBoundingClientRect().top));
      await page.waitForTimeout(3000);
      await page.waitForLoadState("networkidle");
      const top = await place();
      assert.ok(top >= 50 && top < 140, `${id} is ${top} pixels below the top`);
      // The navigation leads there too, from the top of the page.
      await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
      const link = page.locator(`nav a[href="#${id}"]`);
      await link.click();
      await page.waitForTimeout(3000);
      assert.ok(Math.abs(await place() - top) <= 2, `${id} is ${await place()} pixels below the top by the navigation`);
      const shift = (await shiftsOf(page)).reduce((sum, { value }) => sum + value, 0);
      t.diagnostic(`${id}: layout shift ${shift.toFixed(4)}`);
      assert.ok(shift <= 0.02, `${shift}`);
    }
  });
}

test("a part that cannot be loaded says so, and loads when it is tried again", async (t) => {
  const { url } = await site(t);
  const { page, context } = await visit(t, url);
  await runs(page);
  await page.waitForLoadState("networkidle");
  await context.setOffline(true);
  for (const id of ["backoff", "lab"]) {
    const part = page.locator(`#${id}`);
    await part.evaluate((element) => element.scrollIntoView({ behavior: "instant" }));
    const retry = part.getByRole("button", { name: "Retry" });
    await retry.click();
    await page.locator(`#${id} .failed button:not([disabled])`).waitFor();
    assert.match(await part.innerText(), /could not be loaded/, "the page still works");
  }
  await context.setOffline(false);
  await page.locator("#lab").getByRole("button", { name: "Retry" }).click();
  await page.locator("#lab .lane .plot canvas").first().waitFor();
  await show(page, "backoff");
  await page.locator("#backoff .plot canvas").first().waitFor();
  assert.equal(await page.getByText("could not be loaded").count(), 0);
  const font = await page.locator("#lab h4").first().evaluate((heading) => getComputedStyle(heading).fontSize);
  assert.equal(font, "13px", "its style has loaded too");
});

test("a figure whose engine cannot be loaded says so, and plays when it is tried again", async (t) => {
  const { url } = await site(t);
  const { page, context } = await visit(t, url, { before: (page) => page.context().route(/lab-.*\.wasm$/, (route) => route.abort()) });
  await show(page, "backoff");
  await page.locator("#backoff figcaption").getByText("the engine cannot be loaded").waitFor();
  await context.unroute(/lab-.*\.wasm$/);
  await page.locator("#backoff .play", { hasText: "Retry" }).click();
  await page.waitForFunction(() => ["runs", "over"].includes(document.getElementById("backoff").dataset.state));
});

test("a script changes the height of no part of a figure", async (t) => {
  const { url } = await site(t);
  const heights = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("figure, figure > *")].map((element) => {
    const figure = element.closest("figure");
    return [`${figure.id} ${element === figure ? "" : `${element.tagName} ${[...figure.children].indexOf(element)}`}`, Math.round(element.getBoundingClientRect().height)];
  })));
  const before = await visit(t, url, { script: false });
  const after = await visit(t, url, { still: true });
  await read(after.page);
  await after.page.waitForFunction(() => [...document.querySelectorAll("figure")].every(({ dataset }) => dataset.state === "over"));
  for (const width of [320, 360, 390, 480, 704, 705, 768, 864, 865, 1024, 1280, 1920]) {
    for (const { page } of [before, after]) await page.setViewportSize({ width, height: 800 });
    assert.deepEqual(await heights(after.page), await heights(before.page), `at ${width} pixels`);
  }
});

test("every control can be reached by keyboard and shows its focus", async (t) => {
  const { url } = await site(t);
  const { page } = await visit(t, url, { still: true });
  await read(page);
  const expected = await page.evaluate(() => {
    const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")];
    // A group of radio buttons is one tab stop; the arrow keys move within it.
    const seen = controls.filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled
      && !(element.type === "radio" && !element.checked));
    seen.forEach((element, index) => { element.dataset.stop = index; });
    scrollTo({ top: 0, behavior: "instant" });
    document.body.tabIndex = -1;
    document.body.focus();
    return seen.length;
  });
  const reached = new Set();
  const unseen = [];
  for (let presses = 0; presses < 3 * expected && reached.size < expected; presses++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const element = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const shown = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
      return { index: element.dataset.stop, shown, html: element.outerHTML.slice(0, 120) };
    });
    if (stop.index !== undefined) reached.add(stop.index);
    if (!stop.shown && stop.html.length && !stop.html.startsWith("<body")) unseen.push(stop.html);
  }
  const missed = await page.evaluate((reached) => [...document.querySelectorAll("[data-stop]")]
    .filter((element) => !reached.includes(element.dataset.stop) && !element.disabled).map((element) => element.outerHTML.slice(0, 120)), [...reached]);
  assert.deepEqual(missed, []);
  assert.deepEqual(unseen, []);
});
