// The four figures of the story, from a reader's view.

import assert from "node:assert/strict";
import { test } from "node:test";
import { leavesNothing, show, site, slowDown, visit } from "./harness.mjs";

const FIGURES = ["hammer", "backoff", "limit", "busy"];

/** Waits until a figure is in one of these states. */
async function reaches(page, id, ...states) {
  const reached = await page.waitForFunction(([id, states]) => {
    const { state } = document.getElementById(id).dataset;
    return [...states, "failed"].includes(state) && state;
  }, [id, states]);
  assert.notEqual(await reached.jsonValue(), "failed", await text(page, id, "figcaption"));
}

/** The text of a part of a figure. */
const text = (page, id, part) => page.locator(`#${id} ${part}`).first().innerText();

/** A figure's results: its table and its plot. */
const outcome = (page, id) => page.evaluate((id) => {
  const host = document.getElementById(id);
  const rows = host.querySelector(".plot")?.series?.data ?? [];
  return JSON.stringify([host.querySelector(".reads tbody").innerText, rows, host.querySelector(".say").textContent]);
}, id);

/** Acts on a figure and waits until the run that this starts is over. */
async function afterRun(page, id, act) {
  const run = await page.locator(`#${id}`).getAttribute("data-run");
  await act();
  await page.waitForFunction(([id, run]) => {
    const { dataset } = document.getElementById(id);
    return dataset.run !== run && ["over", "failed"].includes(dataset.state);
  }, [id, run]);
  assert.equal(await page.locator(`#${id}`).getAttribute("data-state"), "over", await text(page, id, "figcaption"));
}

test("every figure runs in view and pauses out of view", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url);
  for (const id of FIGURES) {
    await show(page, id);
    await reaches(page, id, "runs", "over");
    const before = await text(page, id, ".time");
    await page.waitForFunction(([id, before]) => document.querySelector(`#${id} .time`).textContent !== before, [id, before]);
    await page.waitForFunction((id) => document.querySelector(`#${id} .reads td`).textContent !== "–" || document.getElementById(id).dataset.state === "over", id);
  }
  // The first figure is far above the view now.
  assert.equal(await page.locator("#hammer").getAttribute("data-state"), "rests");
  const rested = await text(page, "hammer", ".time");
  await page.waitForTimeout(500);
  assert.equal(await text(page, "hammer", ".time"), rested);
  assert.deepEqual(trouble, []);
});

test("a visitor who prefers reduced motion sees the end, and can play the run", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url, { still: true });
  for (const id of FIGURES) {
    await show(page, id);
    await reaches(page, id, "over");
    assert.match(await text(page, id, ".say"), /\d/);
    assert.equal(await text(page, id, ".play"), "Again");
  }
  await show(page, "hammer");
  await page.locator("#hammer .play").click();
  await reaches(page, "hammer", "runs");
  assert.deepEqual(trouble, []);
});

test("a figure is paused stepped and restarted", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url);
  const seconds = async () => parseFloat(await text(page, "hammer", ".time"));
  await show(page, "hammer");
  await reaches(page, "hammer", "runs");
  await page.waitForFunction(() => parseFloat(document.querySelector("#hammer .time").textContent) > 0.5);
  await page.locator("#hammer .play").click();
  await reaches(page, "hammer", "rests");
  assert.equal(await text(page, "hammer", ".play"), "Play");
  const paused = await seconds();
  await page.locator("#hammer .step").click();
  await page.waitForFunction((paused) => parseFloat(document.querySelector("#hammer .time").textContent) > paused, paused);
  assert.ok(Math.abs(await seconds() - paused - 0.2) < 0.11, "a step is a fifth of a second");
  await page.locator("#hammer .restart").click();
  await page.waitForFunction((paused) => parseFloat(document.querySelector("#hammer .time").textContent) < paused, paused);
  await reaches(page, "hammer", "runs");
  await page.locator("#hammer .more > summary").click();
  await page.locator("#hammer .speed").selectOption({ label: "10 s/s" });
  await reaches(page, "hammer", "over");
  assert.equal(await page.locator("#hammer .say").textContent(), await text(page, "hammer", "figcaption"), "the end is read out");
  assert.deepEqual(trouble, []);
});

test("the text table of a plot contains every point", async (t) => {
  const { url } = await site(t);
  const { page } = await visit(t, url, { still: true });
  for (const id of ["backoff", "busy"]) {
    await show(page, id);
    await reaches(page, id, "over");
    const shown = await page.evaluate((id) => document.querySelector(`#${id} .plot`).series.drawn(), id);
    const details = page.locator(`#${id} > details`).last();
    await details.locator("summary").click();
    await details.locator("tbody tr").first().waitFor();
    const rows = await details.locator("tbody").evaluate((body) => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.equal(rows.length, shown[0].length, id);
    rows.forEach((cells, index) => cells.forEach((cell, column) => {
      const value = shown[column][index];
      assert.equal(cell === "", value === null, `${id}, row ${index}`);
      if (value === null) return;
      const [, digits, unit] = /^([\d.\u202f]+) ?(.*)$/.exec(cell);
      const factor = { min: 60, h: 3600, ms: 1e-3, "µs": 1e-6 }[unit] ?? 1;
      const said = Number(digits.replaceAll("\u202f", "")) * factor;
      assert.ok(Math.abs(said - value) <= Math.abs(value) * 0.005 + 1e-12, `${id}, row ${index}: ${cell} for ${value}`);
    }));
  }
});

test("the table of clients adds up to the figures of the run", async (t) => {
  const { url } = await site(t);
  const { page } = await visit(t, url, { still: true });
  await show(page, "hammer");
  await reaches(page, "hammer", "over");
  await page.locator("#hammer > details summary").click();
  await page.locator("#hammer > details tbody tr").first().waitFor();
  const rows = await page.locator("#hammer > details tbody").evaluate((body) => [...body.rows].map((row) => [...row.cells].map((cell) => Number(cell.textContent))));
  assert.equal(rows.length, 5);
  const sum = (column) => rows.reduce((total, row) => total + row[column], 0);
  const throttled = await page.locator('#hammer .reads [data-metric="throttles"]').allInnerTexts();
  throttled.map((text) => Number(text.replaceAll("\u202f", ""))).forEach((back, index) => {
    // Calls that were throttled and are still on their way back at the end: at most one per worker.
    const under = sum(index ? 4 : 2) - back;
    assert.ok(under >= 0 && under <= 20, `${under} throttled calls are on their way`);
  });
  const counts = await page.locator("#hammer h3 output").allInnerTexts();
  assert.deepEqual(counts.map((text) => parseInt(text.replaceAll("\u202f", ""))), [sum(2), sum(4)]);
});

for (const [width, height] of [[1280, 720], [360, 640]]) {
  test(`a picture and its two main controls fit into ${width} by ${height} pixels`, async (t) => {
    const { url } = await site(t);
    const { page } = await visit(t, url, { width, height, still: true });
    for (const id of FIGURES) {
      await show(page, id);
      await reaches(page, id, "over");
      const [header, top, bottom, knobs] = await page.evaluate((id) => {
        const host = document.getElementById(id);
        const main = [...host.querySelectorAll("form > label")];
        const box = (element) => element.getBoundingClientRect();
        return [box(document.querySelector("header")).bottom, box(host.firstElementChild).top, Math.max(...main.map((knob) => box(knob).bottom)), main.length];
      }, id);
      assert.equal(knobs, 2, id);
      assert.ok(bottom - top <= height - header, `${id}: ${bottom - top} of ${height - header} pixels`);
    }
  });
}

test("a reader's calls are those of a client and do not change the past", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url);
  await reaches(page, "hammer", "runs");
  await page.waitForFunction(() => parseFloat(document.querySelector("#hammer .time").textContent) > 3);
  await page.locator("#hammer .play").click();
  await reaches(page, "hammer", "rests");
  const figures = () => page.locator("#hammer .reads tbody").innerText();
  const before = [await text(page, "hammer", ".time"), await figures()];
  for (let call = 0; call < 3; call++) await page.locator("#hammer .send").click();
  await page.waitForFunction(() => document.querySelector("#hammer figcaption").textContent.includes("Of your calls, "));
  assert.equal(await text(page, "hammer", ".time"), before[0]);
  await page.locator("#hammer .play").click();
  await page.waitForFunction(() => / 3 were served|of 3 were served/.test(document.querySelector("#hammer figcaption").textContent));
  const [, none, gated] = /Of your calls, (\d) of 3 were served without a gate, (\d) of 3 beside tidegate/.exec(await text(page, "hammer", "figcaption"));
  assert.ok(Number(none) <= 3 && Number(gated) <= 3);
  await page.locator("#hammer canvas").first().click();
  await page.waitForFunction(() => document.querySelector("#hammer figcaption").textContent.includes("of 4 were served"));
  // Without the calls, the run is the same as before.
  await page.locator("#hammer .restart").click();
  await page.waitForFunction(() => !document.querySelector("#hammer figcaption").textContent.includes("Of your calls"));
  assert.deepEqual(trouble, []);
});

test("the address contains changed settings, and Back undoes them", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url, { still: true });
  await reaches(page, "hammer", "over");
  const first = await outcome(page, "hammer");
  const turn = (name, value) => afterRun(page, "hammer", () => page.locator(`#hammer [name=${name}]`).evaluate((field, value) => {
    field.value = value;
    for (const event of ["input", "change"]) field.dispatchEvent(new Event(event, { bubbles: true }));
  }, value));
  await turn("clients", "7");
  const second = await outcome(page, "hammer");
  await turn("burst", "1");
  await page.waitForURL(/\?hammer=clients:7,burst:1#hammer$/);
  const third = await outcome(page, "hammer");
  const address = page.url();
  await afterRun(page, "hammer", () => page.goBack());
  assert.equal(await outcome(page, "hammer"), second);
  await afterRun(page, "hammer", () => page.goBack());
  assert.equal(await outcome(page, "hammer"), first);
  await afterRun(page, "hammer", () => page.goForward());
  assert.equal(await outcome(page, "hammer"), second);
  const link = await visit(t, address, { still: true });
  await show(link.page, "hammer");
  await reaches(link.page, "hammer", "over");
  assert.equal(await outcome(link.page, "hammer"), third);
  // Invalid values become the default.
  for (const seed of ["-5", "1.5", ""]) {
    await page.locator("#hammer .more").evaluate((more) => { more.open = true; });
    await page.locator("#hammer [name=seed]").fill(seed);
    await page.locator("#hammer [name=seed]").press("Tab");
    assert.equal(await page.locator("#hammer [name=seed]").inputValue(), "1", `“${seed}” is no seed`);
  }
  assert.deepEqual([...trouble, ...link.trouble], []);
});

test("a figure is copied as a link and as an image", async (t) => {
  const { url } = await site(t);
  const { page, context, trouble } = await visit(t, `${url}?hammer=rate:20`, { still: true });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await reaches(page, "hammer", "over");
  await page.locator("#hammer .more > summary").click();
  await page.locator("#hammer").getByRole("button", { name: "Copy link" }).click();
  await page.getByText("The link is copied.").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${url}?hammer=rate:20#hammer`);
  await page.locator("#hammer").getByRole("button", { name: "Copy image" }).click();
  await page.getByText("The image is copied.").waitFor();
  const size = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    const image = await createImageBitmap(await item.getType("image/png"));
    return [image.width, image.height];
  });
  assert.ok(size[0] > 900 && size[1] > 400, size.join());
  assert.deepEqual(trouble, []);
});

test("a slow machine draws fewer dots", async (t) => {
  const { url } = await site(t);
  const { page } = await visit(t, `${url}?limit=law:none`);
  await show(page, "limit");
  await reaches(page, "limit", "runs");
  await page.waitForFunction(() => /\d/.test(document.querySelector("#limit .perdot").textContent));
  const dots = async () => Number((await text(page, "limit", ".perdot")).replace(/[^\d]/g, ""));
  const before = await dots();
  await slowDown(page, 20);
  await page.waitForFunction(() => Number(document.getElementById("limit").dataset.ease) >= 2);
  await page.waitForFunction((before) => Number(document.querySelector("#limit .perdot").textContent.replace(/[^\d]/g, "")) >= 2 * before, before);
});

test("hundreds of restarts leave nothing behind", async (t) => {
  const { url } = await site(t);
  const { page } = await visit(t, url);
  await reaches(page, "hammer", "runs");
  await leavesNothing(t, page, "#hammer .restart", 20);
});

test("the theme is switched and kept", async (t) => {
  const { url } = await site(t);
  const { page } = await visit(t, url);
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.locator("#theme").click();
  assert.notEqual(await paper(), light);
  assert.equal(await page.locator("#theme").getAttribute("aria-pressed"), "true");
  const dark = await paper();
  await page.reload();
  assert.equal(await paper(), dark);
});
