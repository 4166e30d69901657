// The six figures of the story, as a reader meets them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { show, site, visit } from "./harness.mjs";

const FIGURES = ["hammer", "backoff", "delay", "limit", "busy", "tiers"];

/** Waits until a figure is in one of these states. */
async function reaches(page, id, ...states) {
  const reached = await page.waitForFunction(([id, states]) => {
    const { state } = document.getElementById(id).dataset;
    return [...states, "failed"].includes(state) && state;
  }, [id, states]);
  assert.notEqual(await reached.jsonValue(), "failed", await text(page, id, ".say"));
}

/** The text of a part of a figure. */
const text = (page, id, part) => page.locator(`#${id} ${part}`).first().innerText();

/** What a figure says about its run: its figures and its plot. */
const outcome = (page, id) => page.evaluate((id) => {
  const host = document.getElementById(id);
  const rows = host.querySelector(".plot")?.series?.data ?? [];
  return JSON.stringify([host.querySelector(".reads tbody").innerText, rows, host.querySelector(".say").textContent]);
}, id);

/** Does something to a figure, and waits until the run that it begins is over. */
async function afterRun(page, id, act) {
  const run = await page.locator(`#${id}`).getAttribute("data-run");
  await act();
  await page.waitForFunction(([id, run]) => {
    const { dataset } = document.getElementById(id);
    return dataset.run !== run && ["over", "failed"].includes(dataset.state);
  }, [id, run]);
  assert.equal(await page.locator(`#${id}`).getAttribute("data-state"), "over", await text(page, id, ".say"));
}

test("every figure runs by itself in view and rests out of it", async (t) => {
  const { url } = await site(t);
  const { page, trouble } = await visit(t, url);
  for (const id of FIGURES) {
    await show(page, id);
    await reaches(page, id, "runs", "over");
    const before = await text(page, id, ".time");
    await page.waitForFunction(([id, before]) => document.querySelector(`#${id} .time`).textContent !== before, [id, before]);
    await page.waitForFunction((id) => document.querySelector(`#${id} .reads td`).textContent !== "–" || document.getElementById(id).dataset.state === "over", id);
  }
  // The first figure is far above by now.
  assert.equal(await page.locator("#hammer").getAttribute("data-state"), "rests");
  const rested = await text(page, "hammer", ".time");
  await page.waitForTimeout(500);
  assert.equal(await text(page, "hammer", ".time"), rested);
  assert.deepEqual(trouble, []);
});

test("who wants no motion sees the end and may play it", async (t) => {
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

for (const id of FIGURES) {
  test(`every control of the figure ${id} changes the outcome`, async (t) => {
    const { url } = await site(t);
    const { page, trouble } = await visit(t, url, { still: true });
    await show(page, id);
    await reaches(page, id, "over");
    const form = page.locator(`#${id} form`);
    const names = await form.evaluate((form) => [...form.elements].map(({ name }) => name).filter(Boolean));
    assert.ok(names.length >= 5);
    for (const name of names) {
      const first = await outcome(page, id);
      await afterRun(page, id, () => form.evaluate((form, name) => {
        const field = form.elements.namedItem(name);
        if (field.type === "checkbox") field.checked = !field.checked;
        else if (field.type === "select-one") field.selectedIndex = (field.selectedIndex + 1) % field.length;
        else {
          // Down, where most things bind; up from the least.
          const before = field.value;
          field.value = field.min;
          if (field.value === before) field.value = field.max;
        }
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }, name));
      assert.notEqual(await outcome(page, id), first, `${name} changes nothing`);
      await afterRun(page, id, () => form.evaluate((form) => {
        form.reset();
        form.dispatchEvent(new Event("input", { bubbles: true }));
      }));
      assert.equal(await outcome(page, id), first, `the same run is another one after ${name}`);
    }
    const first = await outcome(page, id);
    if (await page.locator(`#${id} [name=seed]`).count()) {
      await afterRun(page, id, async () => {
        await page.locator(`#${id} [name=seed]`).fill("7");
        await page.locator(`#${id} [name=seed]`).press("Tab");
      });
      // The figure's law draws nothing by lot unless the reader tells it to.
      if (id !== "delay") assert.notEqual(await outcome(page, id), first, "the seed changes nothing");
    }
    assert.deepEqual(trouble, []);
  });
}

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
  await page.locator("#hammer select").selectOption({ label: "10 s/s" });
  await reaches(page, "hammer", "over");
  assert.match(await text(page, "hammer", ".say"), /^Hammering: .+ refused\.$/);
  assert.deepEqual(trouble, []);
});

test("the text table of a plot has every point that it shows", async (t) => {
  const { url } = await site(t);
  const { page } = await visit(t, url, { still: true });
  for (const id of FIGURES.filter((id) => id !== "hammer")) {
    await show(page, id);
    await reaches(page, id, "over");
    const shown = await page.evaluate((id) => document.querySelector(`#${id} .plot`).series.drawn(), id);
    const details = page.locator(`#${id} details`).last();
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
  await page.locator("#hammer summary").click();
  await page.locator("#hammer details tbody tr").first().waitFor();
  const rows = await page.locator("#hammer details tbody").evaluate((body) => [...body.rows].map((row) => [...row.cells].map((cell) => Number(cell.textContent))));
  assert.equal(rows.length, 5);
  const sum = (column) => rows.reduce((total, row) => total + row[column], 0);
  const refusals = await page.locator('#hammer .reads [data-metric="throttles"]').allInnerTexts();
  refusals.map((text) => Number(text.replaceAll("\u202f", ""))).forEach((back, index) => {
    // What was refused at the gate and is on its way back at the end: at most a call of each worker.
    const under = sum(index ? 4 : 2) - back;
    assert.ok(under >= 0 && under <= 20, `${under} refusals are on their way`);
  });
  const counts = await page.locator("#hammer h3 output").allInnerTexts();
  assert.deepEqual(counts.map((text) => parseInt(text.replaceAll("\u202f", ""))), [sum(2), sum(4)]);
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
