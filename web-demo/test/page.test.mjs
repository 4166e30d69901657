// The first page: its size, its accessibility, and its figure in a browser. story.test.mjs tests what the figure claims.

import assert from "node:assert/strict";
import test from "node:test";
import { beyond, shiftsOf, site, unreached, violations, visit, watchShifts } from "./harness.mjs";

/** The maximum size of the first load, in bytes over the wire. */
const MOST = 45_000;

/** The page, as soon as its figure has the mode; `live` is the present. */
async function open(t, options = {}, mode = "live") {
  const { url, sent } = await site(t);
  const { page, trouble, context } = await visit(t, url, options);
  await page.waitForFunction((mode) => document.getElementById("search").dataset.mode === mode, mode);
  const limit = page.getByRole("slider", { name: "The hidden limit" });
  const at = async () => Number(await limit.getAttribute("aria-valuenow"));
  return { page, trouble, context, sent, limit, at };
}

/** With reduced motion, the figure is at its end at once. */
const still = { still: true };

test(`the first load is no more than ${MOST} bytes over the wire`, async (t) => {
  const { page, sent, trouble } = await open(t, {}, "tour");
  await page.waitForLoadState("networkidle");
  const all = sent.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { name, bytes } of sent) t.diagnostic(`${String(bytes).padStart(6)}  ${name || "(the page)"}`);
  t.diagnostic(`${String(all).padStart(6)}  in ${sent.length} files`);
  assert.ok(sent.some(({ name }) => name.endsWith(".wasm")), "the engine is among them");
  assert.ok(all <= MOST, `${all} bytes`);
  assert.deepEqual(trouble, []);
});

test("without JavaScript the text can be read and the picture shows a run", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url, { script: false });
  const text = await page.innerText("main");
  for (const said of ["found", "the limit rises", "wasted", "Why not just retry?", "With JavaScript"]) assert.ok(text.includes(said), said);
  assert.deepEqual(await page.locator(".controls :enabled").count(), 0, "no control that does nothing");
  // Chromium reports that it preloads no module then.
  assert.deepEqual(trouble.filter((what) => !/^csp: .*\.js$/.test(what)), []);
});

test("every link has a target", async (t) => {
  const { page } = await open(t, still);
  const links = await page.evaluate(() => [...document.querySelectorAll("[href], [src]")]
    .filter((element) => !element.closest(".plot")).map((element) => new URL(element.getAttribute("href") ?? element.getAttribute("src"), document.baseURI).href));
  const own = new URL(page.url());
  for (const href of new Set(links)) {
    const { origin, hash, pathname } = new URL(href);
    if (href.startsWith("data:")) continue;
    if (origin !== own.origin) assert.match(href, /^https:\/\/[\w-]+(\.[\w-]+)+\//);
    else if (hash && pathname === own.pathname) assert.equal(await page.locator(hash).count(), 1, href);
    else assert.equal((await fetch(href)).status, 200, href);
  }
});

for (const [name, options] of Object.entries({ "in the light": {}, "in the dark": { dark: true }, "on a phone": { width: 360, height: 740 } })) {
  test(`axe finds no violation ${name}`, async (t) => {
    const { page, trouble } = await open(t, { ...still, ...options });
    await page.locator("#others").fill("3");
    await page.locator("summary").click();
    await page.locator("details table").waitFor();
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(trouble, []);
  });
}

test("nothing scrolls sideways on any screen, from left to right or from right to left", async (t) => {
  const { page } = await open(t, still);
  await page.locator("#others").fill("5");
  for (const wide of [320, 360, 480, 600, 768, 900, 961, 1280, 1920]) {
    await page.setViewportSize({ width: wide, height: 800 });
    assert.deepEqual(await beyond(page), [], `${wide} pixels`);
  }
});

test("the first screen shows the picture, and on a laptop the code and the numbers too", async (t) => {
  const { page } = await open(t, still);
  const bottom = (selector) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().bottom);
  for (const [wide, high, shown] of [[1280, 720, [".pic", ".controls", ".code"]], [1440, 900, [".pic", ".controls", ".code"]], [768, 1024, [".pic", ".controls", ".code"]], [360, 640, [".plot"]]]) {
    await page.setViewportSize({ width: wide, height: high });
    for (const selector of shown) assert.ok(await bottom(selector) <= high, `${selector} at ${wide}x${high}: ${await bottom(selector)}`);
  }
});

test("nothing moves while the page loads, plays its tour and is read", async (t) => {
  for (const wide of [360, 1280]) {
    const { page } = await open(t, { width: wide, before: watchShifts });
    for (const top of [0, 600, 1200, 0]) await page.evaluate((top) => scrollTo({ top, behavior: "instant" }), top);
    const shifts = await shiftsOf(page);
    t.diagnostic(`layout shift ${shifts.reduce((sum, { value }) => sum + value, 0).toFixed(4)} at ${wide} pixels`);
    assert.deepEqual(shifts.filter(({ value }) => value >= 0.002), []);
  }
});

test("the tour shows each client in turn, and a choice ends it", async (t) => {
  const { page } = await open(t, {}, "tour");
  const step = (name) => page.getByRole("button", { name, pressed: true });
  for (const name of ["Hammer", "Back off", "Remember", "Search"]) await step(name).waitFor();
  const places = await page.locator(".lines canvas").evaluateAll((all) => all.map(({ offsetLeft }) => offsetLeft));
  assert.equal(new Set(places).size, places.length, `no part of the picture is over another: ${places}`);
  await page.waitForFunction(() => document.getElementById("search").dataset.mode === "live");
  await page.getByRole("button", { name: "Again" }).click();
  await page.getByRole("button", { name: "Back off" }).click();
  await step("Back off").waitFor();
  await page.waitForFunction(() => document.getElementById("search").dataset.mode === "live");
  assert.ok(await step("Back off").isVisible());
  assert.match(await page.locator("#tell").innerText(), /starts over/);
});

test("a slow click on a score chooses its client while the figure plays", async (t) => {
  const { page } = await open(t, still);
  await page.getByRole("button", { name: "Play" }).click();
  const { x, y, width, height } = await page.evaluate(() => document.querySelector(".step span").getBoundingClientRect().toJSON());
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.waitForTimeout(150);
  await page.mouse.up();
  await page.getByRole("button", { name: "Hammer", pressed: true }).waitFor({ timeout: 5000 });
});

test("keys move the limit by 5 and 25, within its bounds, and every move is kept", async (t) => {
  const { page, limit, at } = await open(t, still);
  await limit.focus();
  for (const [key, expected] of [["ArrowUp", 65], ["ArrowRight", 70], ["ArrowLeft", 65], ["ArrowDown", 60], ["PageUp", 85], ["PageDown", 60], ["Home", 50], ["PageDown", 50], ["End", 220], ["PageUp", 220]]) {
    await page.keyboard.press(key);
    await page.waitForFunction(([is]) => document.querySelector("[role=slider]").getAttribute("aria-valuenow") === String(is), [expected]);
    assert.equal(await at(), expected, key);
  }
  assert.equal(await limit.getAttribute("aria-valuetext"), "220 calls per second");
});

test("the handle can be dragged in the tour, and the world goes on from there", async (t) => {
  const { page, limit, at } = await open(t, {}, "tour");
  // The handle moves in the tour, so the test could miss it.
  await page.getByRole("button", { name: "Pause" }).click();
  const { x, y, width, height } = await limit.boundingBox();
  const before = await at();
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width / 2, y + height / 2 - 90, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction((before) => Number(document.querySelector("[role=slider]").getAttribute("aria-valuenow")) > before, before);
  const after = await at();
  assert.equal(await page.locator("#search").getAttribute("data-mode"), "live");
  const numbers = await page.locator(".nums").innerText();
  await page.waitForFunction((numbers) => document.querySelector(".nums").innerText !== numbers, numbers);
  assert.equal(await at(), after, "it stays where it was left");
  assert.ok(await page.locator(".handle em").isHidden());
});

test("with reduced motion the figure shows its end, stands still, and each move shows what follows", async (t) => {
  const { page, limit } = await open(t, still);
  const drawn = () => page.locator(".plot").innerHTML();
  const first = await drawn();
  const shown = await page.locator(".plot").screenshot();
  await page.waitForTimeout(500);
  assert.equal(await drawn(), first);
  assert.ok(shown.equals(await page.locator(".plot").screenshot()));
  assert.match(first, /found/);
  assert.ok(await page.getByRole("button", { name: "Search", pressed: true }).isVisible());
  await limit.press("PageUp");
  await page.waitForFunction(() => document.querySelector(".plot").innerHTML.includes(">70 s<"));
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
});

test("the figure pauses ten minutes after the last input", async (t) => {
  const { page } = await open(t, { ...still, before: (page) => page.clock.install() });
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await page.clock.fastForward("09:00");
  await page.keyboard.press("Shift");
  await page.clock.fastForward("09:00");
  assert.ok(await page.getByRole("button", { name: "Pause" }).isVisible());
  await page.clock.fastForward("02:00");
  await page.getByRole("button", { name: "Play" }).waitFor({ timeout: 10_000 });
});

test("other clients share the limit, and the numbers name each", async (t) => {
  const { page } = await open(t, still);
  for (const others of [5, 1, 0]) {
    await page.locator("#others").fill(String(others));
    const form = others ? `^you \\d+/s, others \\d+(, \\d+){${others - 1}}: (9\\d|10\\d)/s together$` : "^\\d+ calls wasted, \\d+ % of the limit used since the start$";
    await page.waitForFunction((form) => new RegExp(form).test(document.querySelector(".nums").innerText), form);
    assert.match(await page.getByRole("button", { name: "Search" }).innerText(), /\d+ % used, \d+ wasted/);
  }
});

test("lines that were drawn while time passed are those that are drawn at once, in the light and in the dark", async (t) => {
  const { page } = await open(t, still);
  for (const others of ["0", "3"]) {
    await page.locator("#others").fill(others);
    await page.getByRole("button", { name: "Play" }).click();
    // The picture moves further than a canvas is wide, and the limit moves with it.
    for (const key of ["PageUp", "End", "Home"]) {
      const numbers = await page.locator(".nums").innerText();
      await page.getByRole("slider", { name: "The hidden limit" }).press(key);
      await page.waitForFunction((numbers) => document.querySelector(".nums").innerText !== numbers, numbers);
      await page.waitForTimeout(1500);
    }
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Play" }).waitFor();
    const picture = async () => (await page.locator(".lines").screenshot()).toString("base64");
    const once = await picture();
    await page.getByRole("button", { name: "Dark" }).click();
    assert.ok(await most(page, once, await picture()) > 150, "another theme has other colours");
    await page.getByRole("button", { name: "Dark" }).click();
    // The edges of lines are smoothed a little differently in each part.
    const off = await most(page, once, await picture());
    assert.ok(off < 80, `${others} others: ${off}`);
  }
});

/** How much a pixel of two pictures differs at most, of 255. */
const most = (page, ...pictures) => page.evaluate(async (pictures) => {
  const [one, other] = await Promise.all(pictures.map(async (picture) => {
    const image = Object.assign(new Image(), { src: `data:image/png;base64,${picture}` });
    await image.decode();
    const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
    pen.drawImage(image, 0, 0);
    return pen.getImageData(0, 0, image.width, image.height).data;
  }));
  return one.reduce((most, value, at) => Math.max(most, Math.abs(value - other[at])), 0);
}, pictures);

test("the figure says that its module cannot be loaded, and plays when it is tried again", async (t) => {
  const { url } = await site(t);
  const { page, context } = await visit(t, url, { before: (page) => page.context().route(/\.wasm$/, (route) => route.abort()) });
  const note = page.getByRole("alert");
  await note.getByText("The figure cannot be loaded").waitFor();
  await context.unroute(/\.wasm$/);
  await note.getByRole("button", { name: "Retry" }).click();
  await page.waitForFunction(() => document.getElementById("search").dataset.mode === "tour");
  assert.equal(await note.count(), 0);
});

test("the figure says that its engine has failed, stops, and offers to load the page again", async (t) => {
  const before = (page) => page.addInitScript(() => {
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = async (...given) => {
      const { instance } = await instantiate.apply(WebAssembly, given);
      return { instance: { exports: { ...instance.exports, advance: (world) => { if (globalThis.broken) throw new Error("unreachable"); return instance.exports.advance(world); } } } };
    };
  });
  const { page, trouble } = await open(t, { ...still, before });
  await page.evaluate(() => { globalThis.broken = true; });
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByRole("alert").getByText("The figure has stopped: unreachable").waitFor({ timeout: 10_000 });
  await page.getByRole("alert").getByRole("button", { name: "Retry" }).click();
  await page.waitForFunction(() => !globalThis.broken && document.getElementById("search").dataset.mode === "live");
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.deepEqual(trouble, []);
});

test("every control can be reached by keyboard and shows its focus", async (t) => {
  const { page } = await open(t, still);
  assert.deepEqual(await unreached(page), []);
});
