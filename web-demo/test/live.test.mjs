// The live page with the demo's own server: real sockets, the real package, a real fleet.

import assert from "node:assert/strict";
import test from "node:test";
import { createServer } from "node:net";
import { beyond, browser, live, shiftsOf, site, sources, unreached, violations, visit, watchShifts } from "./harness.mjs";

/** Opens the page that a demo serves. */
async function open(t, url, options) {
  const loopback = (origin) => new URL(origin).hostname === "127.0.0.1";
  const { page, trouble } = await visit(t, url, { allowed: loopback, ...options });
  // The first report has arrived.
  await page.waitForFunction(() => document.querySelector("#live .about")?.textContent.startsWith("Waiting") === false);
  return { page, trouble };
}

/** Whether the page shows a law of the demo. Runs in the page. */
const shows = (law) => document.querySelector("#live .about").textContent.includes(`law ${law},`);

/** Opens the page of a demo while its first law runs. If a busy machine opens it later, the demo starts again, for longer. */
async function early(t, laws, seconds) {
  await browser(); // the laws do not wait for it
  const { url } = await live(t, "--compare", laws, "--seconds", String(seconds));
  const opened = await open(t, url).catch((error) => (seconds < 300 ? undefined : Promise.reject(error)));
  const isEarly = await opened?.page.evaluate(shows, laws.split(",")[0]);
  return isEarly || (opened && seconds >= 300) ? opened : early(t, laws, seconds * 2);
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
  // The counts of the calls before.
  const before = await page.locator("#live .mine").textContent();
  await page.locator("#live .play").click();
  await page.waitForFunction(([calls, before]) => {
    const { textContent } = document.querySelector("#live .mine");
    const count = (text) => Number(/sent ([\d\s]+) calls?;/.exec(text)?.[1].replace(/\s/g, "") ?? 0);
    return count(textContent) >= count(before) + calls;
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
  assert.match(await page.innerText("#live .about"), /60 calls per 1s/);
  assert.doesNotMatch(await page.innerText("#live"), /fleet|process/);
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
  const { url, moment } = await live(t, "--page", "--limit", "1");
  const { page } = await open(t, url);
  const { made, served, counted } = await call(page, moment, "plain", 6, 150);
  t.diagnostic(`${made} calls, ${served} served`);
  assert.ok(counted.offered <= made && made - counted.offered <= 6, `${made} and ${counted.offered}`);
  assert.ok(served / made < 0.6, `${served} of ${made}`);
});

test("the fleet of a running demo is shown with its law, processes and curve to the end", async (t) => {
  const { page, trouble } = await early(t, "none,adaptive", 30);
  for (const law of ["none", "adaptive"]) {
    await page.waitForFunction(shows, law);
    const adapts = law === "adaptive";
    // Without a gate, more calls are throttled than the plot can show: it says how many.
    if (!adapts) {
      await page.waitForFunction(() => {
        const { series } = document.querySelector("#live .plot");
        const [, most] = /^up to ([\d\u202f]+) ↑$/.exec(document.querySelector("#live .peak").textContent) ?? [];
        return most && Math.abs(Number(most.replace("\u202f", "")) - Math.max(...series.data.slice(1).flat())) < 1 && Number(most.replace("\u202f", "")) > series.y.max;
      });
    }
    await page.waitForFunction((law) => {
      const callers = document.querySelector("#live .callers");
      // Four processes and the reader, and their laws.
      const laws = [...callers.querySelectorAll("tbody td:nth-child(2)")].map((cell) => cell.textContent);
      return laws.join() === `${law},`.repeat(4) + "–";
    }, law);
  }
  const [, fleet] = await page.evaluate(() => document.querySelector("#live .plot").series.data);
  assert.ok(Math.max(...fleet) > 30, "the fleet was served some calls a second");
  await page.waitForFunction(() => document.querySelector("#live .about").textContent.includes("The connection to the demo has ended"));
  assert.ok(await page.locator("#live .play").isDisabled());
  assert.deepEqual(trouble, []);
});

test("the reader's workers continue with the next law's server", async (t) => {
  const { page, trouble } = await early(t, "aimd,adaptive", 10);
  await page.locator("#live .play:not([disabled])").click();
  await page.waitForFunction(() => document.querySelector("#live .about").textContent.includes("law adaptive,"));
  // Some calls a second are served by the second server.
  await page.waitForFunction(() => Number(document.querySelectorAll("#live .callers tbody tr:last-child td")[2].innerText) > 0);
  // The connection of a call in flight is refused when the first server ends; its worker continues.
  const ended = (line) => line.includes("ERR_CONNECTION_REFUSED");
  assert.deepEqual(trouble.filter((line) => !line.includes("429") && !ended(line)), []);
});

test("the counts of the page and of the server agree after every change of the gate", async (t) => {
  const { url } = await live(t, "--page", "--hints", "ietf");
  const { page } = await open(t, url);
  await page.locator("#live .play:not([disabled])").click();
  for (const how of ["plain", "backoff", "adaptive", "none", "plain"]) {
    await page.locator("#live select").selectOption(how);
    await page.waitForTimeout(700);
  }
  await page.locator("#live .play").click();
  // The calls in flight arrive, and a report follows.
  await page.waitForFunction(() => {
    const [, sent, counted] = /You sent ([\d\s]+) calls; the server counted ([\d\s]+)\./.exec(document.querySelector("#live .mine").textContent) ?? [];
    return sent && sent === counted;
  });
});

test("an answer counts where its call does, and another number of workers keeps the gate", async (t) => {
  const [{ Workers }] = await sources("live/workers");
  const answers = [];
  t.mock.method(globalThis, "fetch", () => new Promise((answer) => answers.push(answer)));
  const answer = async () => {
    answers.shift()(new Response("", { status: 429 }));
    await new Promise(setImmediate);
  };
  const workers = new Workers();
  workers.url = "http://127.0.0.1:1/";
  await workers.start(1, "plain");
  const { lately } = workers;
  await workers.start(2, "plain");
  assert.equal(workers.lately, lately);
  assert.equal(lately.sent, 3);
  workers.stop();
  await workers.start(1, "plain");
  for (let call = 0; call < 3; call++) await answer();
  assert.deepEqual([workers.lately, lately], [{ sent: 1, served: 0, throttled: 0 }, { sent: 3, served: 0, throttled: 3 }]);
  await answer();
  assert.equal(workers.lately.throttled, 1);
  assert.equal(workers.counts.throttled, 4);
  workers.stop();
});

for (const [width, height] of [[360, 640], [1440, 900]]) {
  test(`the fleet is on the first screen at ${width} pixels, and nothing moves`, async (t) => {
    const { url } = await live(t, "--compare", "none,adaptive", "--seconds", "60");
    const { page } = await open(t, url, { width, height, before: watchShifts });
    await page.waitForFunction(() => document.querySelectorAll("#live .callers tbody tr").length === 5);
    const bottom = await page.locator("#live .plot").evaluate((plot) => plot.getBoundingClientRect().bottom);
    assert.ok(bottom <= height, `the plot ends at ${bottom}`);
    await page.waitForTimeout(2_000);
    const shift = (await shiftsOf(page)).reduce((sum, { value }) => sum + value, 0);
    t.diagnostic(`layout shift ${shift.toFixed(4)}`);
    assert.ok(shift <= 0.1, JSON.stringify(await shiftsOf(page)));
  });
}

for (const [name, options] of Object.entries({ "in the light": {}, "in the dark": { dark: true }, "on a phone": { width: 360, height: 640 } })) {
  test(`axe finds no violation ${name}, the page fits every width, and the keyboard reaches all`, async (t) => {
    const { url } = await live(t, "--law", "adaptive", "--seconds", "2", "--keep");
    const { page } = await open(t, url, { still: true, ...options });
    await page.evaluate(() => { document.querySelector("details").open = true; });
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(await unreached(page), []);
    for (const width of [320, 360, 768, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      await page.waitForTimeout(300);
      assert.deepEqual(await beyond(page), [], `${width} pixels`);
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
    await page.getByText("The connection to the demo has ended").waitFor();
    const second = await live(t, "--page", "--page-port", port);
    while (longer && (await second.moment()).now <= now + 1) await new Promise((done) => setTimeout(done, 200));
    await page.getByRole("button", { name: "Look again" }).click();
    await page.locator("#live .about", { hasText: "calls per" }).waitFor();
    const said = /sent ([\d\s]+) calls?; the server counted ([-−\d\s]+)\./.exec(await page.innerText("#live .mine")) ?? [];
    const [sent, counted] = said.slice(1).map((text) => Number(text.replace("−", "-").replace(/\s/g, "")));
    assert.ok(made > 20 && sent >= made && counted >= 0 && sent - counted >= 0 && sent - counted <= 2, `${sent} and ${counted}`);
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
  const { page, trouble } = await visit(t, `${url}live.html`);
  await page.locator("#live", { hasText: "cargo xtask demo" }).waitFor();
  assert.deepEqual(await violations(page), []);
  assert.ok(sent.every(({ status }) => status === 200));
  assert.deepEqual(trouble, []);
});
