// No setting produces a false caption: every sentence of every caption is compared with the numbers
// of the run. A sentence without a rule here is a failure.

import assert from "node:assert/strict";
import { test } from "node:test";
import { show, site, visit } from "./harness.mjs";

const N = "([\\d\\u202f]+)";
const P = "([\\d.]+) %";
const T = "([\\d.\\u202f]+) s";
const number = (text) => Number(text.replaceAll("\u202f", ""));

/** A sentence that may appear in a caption, and whether the table's rows confirm it. */
const rule = (pattern, holds) => ({ pattern: new RegExp(`^${pattern}`), holds });
const near = (said, share) => Math.abs(Number(said) - 100 * share) <= Math.max(0.051, 0.51 * 10 ** (Math.floor(Math.log10(100 * share || 1)) - 2));
const same = (said, count) => number(said) === count;
/** Within the rounding to four significant digits. */
const soon = (said, seconds) => Math.abs(number(said) - seconds) <= 0.0006 * seconds;

/** A gate compared with none: exactly one sentence about waste, and one about use. */
const waste = [
  rule("No call was throttled: with these settings, no gate is needed\\.", ({ gate, none }) => gate.throttles + none.throttles === 0),
  rule(`With [\\w-]+, ${N} calls? were wasted, without a gate ${N}: here it loses\\.`, ({ gate, none }, g, n) => same(g, gate.throttles) && same(n, none.throttles) && gate.throttles > none.throttles),
  rule(`With [\\w-]+ and without a gate, ${N} calls? were wasted: here it saves nothing\\.`, ({ gate, none }, n) => same(n, gate.throttles) && same(n, none.throttles)),
  rule(`Without a gate, ${N} calls? were wasted, with [\\w-]+ ${N}(?:: ([\\d.\\u202f]+) times fewer)?\\.`, ({ gate, none }, n, g, times) =>
    same(g, gate.throttles) && same(n, none.throttles) && gate.throttles < none.throttles
    && (times === undefined || Math.abs(number(times) / (none.throttles / gate.throttles) - 1) <= 0.051)),
];
const use = [
  rule(`But with [\\w-]+ only ${P} of the limit was used, without a gate ${P}: here it loses throughput\\.`, ({ gate, none }, g, n) => near(g, gate.util) && near(n, none.util) && gate.util < none.util),
  rule(`With [\\w-]+, ${P} of the limit was used, without a gate only ${P}\\.`, ({ gate, none }, g, n) => near(g, gate.util) && near(n, none.util) && gate.util > none.util),
  rule(`Both used about the same share of the limit \\(${P} and ${P}\\)\\.`, ({ gate, none }, g, n) => near(g, gate.util) && near(n, none.util) && Math.abs(gate.util - none.util) <= 0.02),
];

const done = `was (?:done after ${T}|not done after [\\d:]+ h)`;
const when = (said, row) => (said === undefined ? row.time_s === null : soon(said, row.time_s));

/** The sentences of each figure, by part: exactly one per part, or at most one if the part is optional. */
const FIGURES = {
  hammer: {
    rows: ["none", "gate"],
    parts: [waste, use],
    lanes: ({ gate, none }) => [gate, none],
    use: ({ util }) => util,
    // The page's claim.
    always: ({ gate, none }) => gate.throttles <= Math.max(none.throttles, 5),
  },
  backoff: {
    rows: ["none", "forgets", "remembers", "gate"],
    lanes: ({ gate, ...others }) => [gate, ...Object.values(others)],
    // All lanes do the same job, so the rate follows from the time; an unfinished job has none.
    use: ({ time_s: time }) => (time === null ? 0 : 1 / time),
    parts: [
      [rule(`With tidegate the job ${done} and wasted ${N} calls?; without a gate it ${done} and wasted ${N} calls?\\.`, ({ gate, none }, ownTime, own, otherTime, other) =>
        when(ownTime, gate) && same(own, gate.throttles) && when(otherTime, none) && same(other, none.throttles))],
      [rule(`The backoff that forgets wasted ${N} calls?, the delay that remembers ${N} calls?\\.`, ({ forgets, remembers }, f, r) => same(f, forgets.throttles) && same(r, remembers.throttles))],
    ],
    optional: [
      rule("Nothing was throttled: this job needs no gate\\.", ({ gate, none }) => gate.throttles + none.throttles === 0),
      rule("Here tidegate saves nothing\\.", ({ gate, none }) => gate.throttles >= none.throttles),
      rule("Here tidegate loses time\\.", ({ gate, none }) => (gate.time_s ?? Infinity) > 1.1 * none.time_s),
    ],
    always: ({ gate, none }, caption) => ((gate.time_s ?? Infinity) > 1.1 * (none.time_s ?? Infinity)) === /loses time/.test(caption)
      && (gate.throttles >= none.throttles) === /saves nothing|needs no gate/.test(caption),
  },
  limit: {
    rows: ["chosen", "other"],
    // If another law is chosen, tidegate does not run.
    lanes: ({ gate, none }, { law = "adaptive" }) => (["adaptive", "none"].includes(law) ? [gate, none] : [gate]),
    use: ({ util }) => util,
    read: ({ chosen, other }, { law }) => (law === "none" ? { chosen, none: chosen, gate: other } : { chosen, gate: chosen, none: other }),
    parts: [waste, use, [rule("Fairness of [\\w -]+ between workers: (–|[\\d.]+), where 1 is even\\.", ({ chosen }, jain) =>
      (jain === "–" ? chosen.jain_worker === null : Math.abs(jain - chosen.jain_worker) <= 0.0006))]],
  },
  busy: {
    rows: ["tidegate", "multiply", "add"],
    lanes: ({ tidegate, ...others }) => [tidegate, ...Object.values(others)],
    use: ({ overload_util: use }) => use,
    parts: [
      [rule(`Share of the slow server’s capacity that was used: tidegate ${P}, multiply ${P}, add ${P}\\.`, ({ tidegate, multiply, add }, t, m, a) =>
        near(t, tidegate.overload_util) && near(m, multiply.overload_util) && near(a, add.overload_util))],
      [rule(`Back at the full rate after: tidegate (more than )?${T}, multiply (more than )?${T}, add (more than )?${T}\\.`, ({ tidegate, multiply, add }, ...said) =>
        [tidegate, multiply, add].every(({ recovery_s: back }, index) => {
          const [not, seconds] = said.slice(2 * index);
          return not ? back === null : soon(seconds, back);
        }))],
    ],
    optional: [rule("Here (.+)\\.", (rows, said) => said.split(", and ").every((claim) => {
      const [, name, what] = /^(\w+) (used more than|was back before) tidegate$/.exec(claim) ?? [];
      return what && (what.startsWith("used") ? rows[name].overload_util > rows.tidegate.overload_util : rows[name].recovery_s < (rows.tidegate.recovery_s ?? Infinity));
    }))],
    always: ({ tidegate, ...others }, caption) => Object.entries(others).every(([name, row]) =>
      ((row.recovery_s ?? Infinity) < (tidegate.recovery_s ?? Infinity)) === caption.includes(`${name} was back before tidegate`)
      && (row.overload_util < tidegate.overload_util + 0.001 || caption.includes(`${name} used more than tidegate`))),
  },
};

/** What is false in a caption or missing from it. */
function faults(figure, rows, caption, state) {
  let rest = caption.trim();
  const found = [];
  const take = (rules) => {
    for (const { pattern, holds } of rules) {
      const match = pattern.exec(rest);
      if (!match) continue;
      if (!holds(rows, ...match.slice(1))) found.push(`“${match[0]}” is false`);
      rest = rest.slice(match[0].length).trim();
      return true;
    }
    return false;
  };
  for (const part of figure.parts) if (!take(part)) found.push(`a sentence is missing before “${rest}”`);
  while (figure.optional && take(figure.optional));
  if (rest) found.push(`no rule knows “${rest}”`);
  if (figure.always && !figure.always(rows, caption)) found.push("a required sentence is missing, or the claim is broken");
  if (/\b1 calls\b/.test(caption)) found.push("one call is not “1 calls”");
  const [own, ...others] = figure.lanes(rows, state);
  for (const other of others) {
    if (figure.use(own) < 0.9 * figure.use(other) && own.throttles > other.throttles) found.push("tidegate uses less than nine tenths of another lane, and wastes more");
  }
  for (const [name, row] of Object.entries(rows)) {
    for (const [metric, value] of Object.entries(row)) if (/util|throttled$|jain/.test(metric) && value > 1 + 1e-9) found.push(`${metric} of ${name} is ${value}`);
  }
  return found;
}

/** Each control alone at both ends, all pairs of the ends of the two main ones, and the defaults again. */
const states = (form) => form.evaluate((form) => {
  const ends = (field) => {
    if (field.type === "checkbox") return ["true", "false"];
    if (field.type === "select-one") return [...field.options].map(({ value }) => value);
    if (field.name === "seed") return ["0", "9007199254740991"];
    return [field.min, field.max];
  };
  const fields = [...form.elements].filter(({ name }) => name);
  const single = fields.flatMap((field) => ends(field).map((value) => ({ [field.name]: value })));
  const [one, other] = form.querySelectorAll(":scope > label :is(input, select)");
  return [{}, ...single, ...ends(one).flatMap((first) => ends(other).map((second) => ({ [one.name]: first, [other.name]: second }))), {}];
});

for (const [id, figure] of Object.entries(FIGURES)) {
  test(`every control of the figure ${id} changes the run, and every sentence under it is true for all settings`, async (t) => {
    const { url } = await site(t);
    const { page, trouble } = await visit(t, url, { still: true });
    await show(page, id);
    await page.waitForSelector(`#${id}[data-state=over]`);
    const form = page.locator(`#${id} form`);
    const all = await states(form);
    const wrong = [];
    const captions = new Set();
    /** What each setting alone shows; the defaults are first and last. */
    const seen = [];
    for (const state of all) {
      const run = await page.locator(`#${id}`).getAttribute("data-run");
      await form.evaluate((form, state) => {
        form.reset();
        for (const [name, value] of Object.entries(state)) {
          const field = form.elements.namedItem(name);
          if (field.type === "checkbox") field.checked = value === "true";
          else field.value = value;
        }
        form.dispatchEvent(new Event("input", { bubbles: true }));
      }, state);
      await page.waitForFunction(([id, run]) => {
        const { dataset } = document.getElementById(id);
        return dataset.run !== run && ["over", "failed"].includes(dataset.state);
      }, [id, run]);
      const [caption, values, plot] = await page.evaluate((id) => {
        const host = document.getElementById(id);
        const rows = [...host.querySelectorAll(".reads tbody tr")].map((row) => Object.fromEntries(
          [...row.querySelectorAll("[data-metric]")].map(({ dataset }) => [dataset.metric, JSON.parse(dataset.value)])));
        return [host.querySelector("figcaption").textContent.replaceAll("\u00a0", " "), rows, host.querySelector(".plot")?.series.data];
      }, id);
      captions.add(caption);
      seen.push({ names: Object.keys(state).join(), outcome: JSON.stringify([values, plot]) });
      const rows = Object.fromEntries(figure.rows.map((name, index) => [name, values[index]]));
      const found = faults(figure, figure.read?.(rows, state) ?? rows, caption, state);
      if (found.length > 0) wrong.push(`${JSON.stringify(state)}: ${found.join("; ")}\n  ${caption}\n  ${JSON.stringify(rows)}`);
    }
    t.diagnostic(`${all.length} states, ${captions.size} captions`);
    assert.deepEqual(wrong, []);
    assert.equal(seen.at(-1).outcome, seen[0].outcome, "the same settings give the same run");
    for (const name of await form.evaluate((form) => [...form.elements].map(({ name }) => name).filter(Boolean))) {
      assert.ok(seen.some(({ names, outcome }) => names === name && outcome !== seen[0].outcome), `${name} changes nothing`);
    }
    // The longest caption moves nothing below it.
    for (const width of [320, 360, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const heights = await page.locator(`#${id} figcaption`).evaluate((host, captions) => captions.map((text) => {
        host.textContent = text;
        return host.offsetHeight;
      }), ["", ...captions]);
      assert.equal(new Set(heights).size, 1, `at ${width} pixels a caption takes ${Math.max(...heights)} pixels instead of ${heights[0]}`);
    }
    assert.deepEqual(trouble, []);
  });
}
