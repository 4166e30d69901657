// The live section with the demo's own server: real sockets, the real package, a real fleet.

import assert from "node:assert/strict";
import test from "node:test";
import { createServer } from "node:net";
import { browser, live, shiftsOf, show, site, visit, watchShifts } from "./harness.mjs";

/** Opens the live section of a page that a demo serves. */
async function open(t, url, options) {
  const loopback = (origin) => new URL(origin).hostname === "127.0.0.1";
  const { page, trouble } = await visit(t, url, { allowed: loopback, ...options });
  await show(page, "live");
  // The first report has arrived.
  await page.waitForFunction(() => document.querySelector("#live .about")?.textContent.startsWith("Waiting") === false);
  return { page, trouble };
}

/** A port without a listener. */
const free = () => new Promise((done) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => done(String(port)));
  });
});

/** A report that the demo wrote after this call. */
async function later(moment) {
  const { now } = await moment();
  for (;;) {
    const next = await moment();
    if (next.now > now) return next;
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Calls with this many workers until this many calls have been made; returns what the page and the server counted. */
async function call(page, moment, how, workers, calls) {
  await page.locator("#live .play:not([disabled])").waitFor();
  await page.locator("#live select").selectOption(how);
  await page.locator("#live [name=workers]").fill(String(workers));
  // The counts of the calls before, which stay until the first report.
  const before = await page.locator("#live .mine").textContent();
  await page.locator("#live .play").click();
  await page.waitForFunction(([calls, before]) => {
    const { textContent } = document.querySelector("#live .mine");
    const [, sent] = /sent ([\d\s]+) calls?;/.exec(textContent) ?? [];
    return textContent !== before && sent && Number(sent.replace(/\s/g, "")) >= calls;
  }, [calls, before]);
  const said = await page.innerText("#live .mine");
  await page.locator("#live .play").click();
  await page.waitForFunction(() => document.querySelector("#live .say").textContent !== "");
  const [, made, served] = /made ([\d\s]+) calls?: ([\d\s]+) served/.exec(await page.innerText("#live .say"));
  const number = (text) => Number(text.replace(/\s/g, ""));
  return { said, made: number(made), served: number(served), counted: (await later(moment)).others };
}

test("the reader's workers are served through the gate, and the server counts what they count", async (t) => {
  const { url, moment } = await live(t, "--page", "--hints", "ietf");
  const { page, trouble } = await open(t, url);
  assert.match(await page.innerText("#live .about"), /60 calls per 1s.*No fleet/s);
  const { said, made, served, counted } = await call(page, moment, "adaptive", 6, 250);
  t.diagnostic(`${made} calls, ${served} served; ${said}`);
  // Calls in flight when the reader stopped may not have been sent, or may have been served after the worker ended.
  assert.ok(counted.offered <= made && made - counted.offered <= 6, `${made} and ${counted.offered}`);
  assert.ok(Math.abs(counted.served - served) <= 6, `${served} and ${counted.served}`);
  assert.ok(served > 50 && served / made > 0.8, `${served} of ${made}`);
  assert.match(said, /for (pacing|a cooldown|the concurrency limit)/, "the gate says why calls waited");
  // A throttled call is normal for the throttle, but an error in the browser's console.
  const throttled = trouble.filter((line) => line.includes("429"));
  assert.deepEqual(trouble.filter((line) => !throttled.includes(line)), []);
});

test("with no gate the same workers are mostly throttled", async (t) => {
  const { url, moment } = await live(t, "--page", "--limit", "5");
  const { page } = await open(t, url);
  const { made, served, counted } = await call(page, moment, "plain", 6, 150);
  t.diagnostic(`${made} calls, ${served} served`);
  assert.ok(counted.offered <= made && made - counted.offered <= 6, `${made} and ${counted.offered}`);
  assert.ok(served / made < 0.6, `${served} of ${made}`);
});

test("the fleet of a running demo is shown with its law, processes and curve to the end", async (t) => {
  await browser(); // the laws do not wait for it
  const { url } = await live(t, "--compare", "none,adaptive", "--seconds", "15");
  const { page, trouble } = await open(t, url);
  for (const law of ["none", "adaptive"]) {
    await page.waitForFunction((law) => document.querySelector("#live .about").textContent.includes(`law ${law},`), law);
    const adapts = law === "adaptive";
    // Without a gate, more calls are throttled than the plot can show: it says how many.
    if (!adapts) {
      await page.waitForFunction(() => {
        const { series } = document.querySelector("#live .plot");
        const [, most] = /^up to ([\d\u202f]+) ↑$/.exec(document.querySelector("#live .peak").textContent) ?? [];
        return most && Math.abs(Number(most.replace("\u202f", "")) - Math.max(...series.data.slice(1).flat())) < 1 && Number(most.replace("\u202f", "")) > series.y.max;
      });
    }
    await page.waitForFunction((adapts) => {
      const callers = document.querySelector("#live .callers");
      // The reader and four processes, and what guides them.
      const guides = [...callers.querySelectorAll("tbody td:last-child")].map((cell) => cell.textContent);
      return guides.length === 5 && guides.some((guide) => guide !== "–") === adapts;
    }, adapts);
  }
  const [, , , , fleet] = await page.evaluate(() => document.querySelector("#live .plot").series.data);
  assert.ok(Math.max(...fleet) > 30, "the fleet was served some calls a second");
  await page.waitForFunction(() => document.querySelector("#live .about").textContent.includes("The demo is over"));
  assert.ok(await page.locator("#live .play").isDisabled());
  assert.deepEqual(trouble, []);
});

test("the reader's workers continue with the next law's server", async (t) => {
  await browser(); // the laws do not wait for it
  const { url } = await live(t, "--compare", "aimd,adaptive", "--seconds", "10");
  const { page, trouble } = await open(t, url);
  await page.locator("#live .play:not([disabled])").click();
  await page.waitForFunction(() => document.querySelector("#live .about").textContent.includes("law adaptive,"));
  // Some calls a second are served by the second server.
  await page.waitForFunction(() => Number(document.querySelectorAll("#live .callers tbody tr:first-child td")[1].innerText) > 0);
  // The connection of a call in flight is refused when the first server ends; its worker continues.
  const ended = (line) => line.includes("ERR_CONNECTION_REFUSED");
  assert.deepEqual(trouble.filter((line) => !line.includes("429") && !ended(line)), []);
});

for (const [width, height] of [[360, 740], [1440, 900]]) {
  test(`a link to the live section, or below it, leads there at ${width} pixels`, async (t) => {
    const { url } = await live(t, "--compare", "none,adaptive", "--seconds", "60");
    for (const id of ["real", "laboratory"]) {
      const { page } = await visit(t, `${url}#${id}`, { width, height, before: watchShifts, allowed: () => true });
      await page.waitForFunction(() => document.querySelectorAll("#live .callers tbody tr").length === 5);
      await page.waitForTimeout(2_000);
      const top = await page.locator(`#${id}`).evaluate((element) => element.getBoundingClientRect().top);
      assert.ok(top >= 50 && top < 140, `${id} is ${top} pixels below the top`);
      const shift = (await shiftsOf(page)).reduce((sum, { value }) => sum + value, 0);
      t.diagnostic(`${id}: layout shift ${shift.toFixed(4)}`);
      assert.ok(shift <= 0.02, JSON.stringify(await shiftsOf(page)));
    }
  });
}

for (const longer of [false, true]) {
  test(`the server's counts continue when another demo takes over${longer ? ", even if it has run for longer" : ""}`, async (t) => {
    const port = await free();
    const first = await live(t, "--page", "--page-port", port);
    const { page } = await open(t, first.url);
    if (longer) await call(page, first.moment, "plain", 2, 30);
    const { made } = await call(page, first.moment, "plain", 2, 30);
    const { now } = await first.moment();
    await first.stop();
    await page.getByText("The demo is over").waitFor();
    const second = await live(t, "--page", "--page-port", port);
    while (longer && (await second.moment()).now <= now + 1) await new Promise((done) => setTimeout(done, 200));
    await page.getByRole("button", { name: "Look again" }).click();
    await page.locator("#live .about", { hasText: "calls per" }).waitFor();
    const said = /sent ([\d\s]+) calls?; the server counted ([-−\d\s]+) from/.exec(await page.innerText("#live .mine")) ?? [];
    const [sent, counted] = said.slice(1).map((text) => Number(text.replace("−", "-").replace(/\s/g, "")));
    assert.equal(sent, made);
    assert.ok(made > 20 && counted >= 0 && made - counted >= 0 && made - counted <= 2, `${made} and ${counted}`);
    // The line is interrupted while there are no reports.
    await page.waitForFunction(() => document.querySelector("#live .plot").series.data[0].length > 8);
    const rates = await page.evaluate(() => document.querySelector("#live .plot").series.data[1]);
    assert.ok(rates.slice(3).includes(null), JSON.stringify(rates));
  });
}

test("if the package cannot be loaded, calling says so and can be tried again", async (t) => {
  const { url } = await live(t, "--page");
  const { page } = await open(t, url, { before: (page) => page.context().route(/\/dist-[^/]*\.js$/, (route) => route.abort()) });
  await page.locator("#live .play:not([disabled])").click();
  await page.locator("#live .say", { hasText: "cannot call" }).waitFor();
  assert.equal(await page.innerText("#live .play"), "Start calling");
  assert.ok(await page.locator("#live .play").isEnabled());
});

test("on a host without a server it says how to get one, and requests nothing", async (t) => {
  const { url, sent } = await site(t);
  const { page, trouble } = await visit(t, url);
  await show(page, "live");
  await page.locator("#live", { hasText: "cargo xtask demo" }).waitFor();
  assert.ok(sent.every(({ status }) => status === 200));
  assert.deepEqual(trouble, []);
});
