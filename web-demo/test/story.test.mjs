// The first figure without a browser: what it claims is true in 31 runs, and its first paint and its words follow from a run.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { browser, dist, sources } from "./harness.mjs";

const root = path.join(import.meta.dirname, "../..");
const [{ DEFAULT, LAWS, SECOND, SHARED, SPAN, Story }, { hasFound, unread, words }, { first, picture }] =
  await sources("figure/story", "figure/words", "figure/first");
const module = await WebAssembly.compile(fs.readFileSync(path.join(root, "target/page/story.wasm")));
const { exports } = new WebAssembly.Instance(module);
const [NONE, BACKOFF, AIMD, ADAPTIVE] = LAWS.keys();
const SEEDS = Array.from({ length: 31 }, (_, index) => index + 1);

function run(seed, { clients = 1, limits = DEFAULT.limits, span = SPAN } = {}) {
  const story = new Story(exports, clients, seed, limits);
  story.run(span);
  return story;
}
const runs = SEEDS.map((seed) => run(seed));

/** Runs in which a visitor presses keys and drags the handle at random, every fourth with other clients. */
const turned = Array.from({ length: 20 }, (_, index) => {
  let random = index + 1;
  const below = (most) => (random = random * 16807 % 2147483647) % most;
  const clients = index % 4 ? 1 : 2 + below(5);
  const story = run(31, { clients, limits: clients > 1 ? SHARED.limits : DEFAULT.limits, span: below(SPAN) });
  for (let turn = 0; turn < 12; turn++) {
    for (let moves = below(2) ? 1 : 1 + below(8); moves > 0; moves--) {
      story.move(50 + 5 * below(clients > 1 ? 15 : 35));
      story.run(story.bins + 1 + below(8));
    }
    story.run(story.bins + below(400));
  }
  return story;
});
const sum = (values) => values.reduce((total, value) => total + value, 0);
const told = (story, law) => words(LAWS[law], story.tracks[law], story, story.bins);

test("in every run, tidegate uses more of the limit than aimd, and wastes less than a tenth of what backoff does", () => {
  for (const [index, story] of runs.entries()) {
    const [none, backoff, aimd, adaptive] = LAWS.map((_, law) => story.score(law, SPAN));
    assert.ok(adaptive.used > aimd.used + 0.1, `seed ${SEEDS[index]}: ${adaptive.used}, ${aimd.used}`);
    assert.ok(adaptive.wasted < backoff.wasted / 10, `seed ${SEEDS[index]}: ${adaptive.wasted}, ${backoff.wasted}`);
    assert.ok(backoff.wasted < none.wasted, "and backoff wastes less than hammering");
    // "A third of their calls rejected."
    const share = backoff.wasted / sum(story.tracks[BACKOFF].sent[0]);
    assert.ok(Math.abs(share - 1 / 3) < 0.03, `${share}`);
  }
});

test("the run that is shown is the median of them", () => {
  const { wasted, used } = run(DEFAULT.seed).score(ADAPTIVE, SPAN);
  for (const [key, is, near] of [["wasted", wasted, 15], ["used", used, 0.01]]) {
    const median = runs.map((story) => story.score(ADAPTIVE, SPAN)[key]).sort((a, b) => a - b)[15];
    assert.ok(Math.abs(is - median) <= near, `${key}: ${is}, and the median is ${median}`);
  }
});

test("clients that do not know of each other follow the limit together, and none starves", () => {
  for (let others = 1; others <= 5; others++) {
    for (const seed of SEEDS.slice(0, 4)) {
      const { tracks, clients } = run(seed, { clients: others + 1, limits: SHARED.limits });
      const { sent, rejected } = tracks[ADAPTIVE];
      const half = (calls) => sum(calls.slice(SPAN / 2));
      const got = sent.map((calls, client) => (half(calls) - half(rejected[client])) / (SPAN / 2 / SECOND));
      assert.ok(Math.abs(sum(got) - 100) < 3, `${sum(got)} of 100`);
      assert.ok(Math.min(...got) > 0.4 * 100 / clients, `${got}`);
    }
  }
});

test("the words come in their order, and each once at most between two moves of the limit", () => {
  const order = [["first ✕", "searches", "found"], ["probes", "speeds up", "found"], ["cut, cut, cut", "found"]];
  for (const story of runs) {
    for (const law of [AIMD, ADAPTIVE]) {
      const all = told(story, law);
      story.moves.forEach(([from], index) => {
        const to = story.moves[index + 1]?.[0] ?? SPAN;
        const between = all.filter(({ bin }) => bin >= from && bin < to).map(({ word }) => word);
        assert.equal(new Set(between).size, between.length, `${between}`);
        if (law !== ADAPTIVE) return;
        const places = order[index].map((word) => between.indexOf(word));
        assert.ok(places.every((place, at) => place >= 0 && place > (places[at - 1] ?? -1)), `${between}`);
      });
    }
  }
});

test("a word that is said stays, and more of a run adds only later words", () => {
  const span = 900;
  const story = run(DEFAULT.seed, { span });
  for (const law of [AIMD, ADAPTIVE]) {
    const track = story.tracks[law];
    const reading = unread();
    const all = words(LAWS[law], track, story, span);
    for (let end = 0; end <= span; end++) {
      // A run that goes on has no later bins yet.
      const yet = { ...track, sent: [track.sent[0].slice(0, end)], rate: track.rate.slice(0, end) };
      const known = all.filter(({ bin }) => bin + SECOND / 2 <= end);
      for (const how of [undefined, reading]) assert.deepEqual(words(LAWS[law], yet, story, end, how), known, `${end} bins`);
    }
  }
});

test("however the limit is moved, what the page says is true", () => {
  const [early, late] = [[], []];
  for (const [index, story] of turned.entries()) {
    const { bins, tracks, clients, moves } = story;
    const [none, backoff, aimd, adaptive] = LAWS.map((_, law) => story.score(law, bins));
    tracks.forEach(({ sent, rejected }, law) => {
      const [all, bad] = [sent, rejected].map((calls) => sum(calls.flat()));
      const { wasted, used } = story.score(law, bins);
      assert.equal(wasted, bad);
      assert.ok(Math.abs(used - (all - bad) / (20 + sum(story.limit) / SECOND)) < 1e-6, `${used}`);
    });
    assert.ok(backoff.wasted < none.wasted && adaptive.wasted < backoff.wasted / 10, `${index}: ${adaptive.wasted}, ${backoff.wasted}`);
    if (clients === 1) assert.ok(adaptive.used > aimd.used, `${index}: ${adaptive.used}, ${aimd.used}`);
    const { sent, rejected, rate } = tracks[ADAPTIVE];
    const got = sent.map((calls, client) => sum(calls) - sum(rejected[client]));
    assert.ok(Math.min(...got) * clients / sum(got) > 0.35, `nobody starves: ${got}`);
    const cutAt = (bin) => 1 - Math.max(...rate.slice(bin, bin + SECOND / 2)) / rate[bin - 1];
    const all = told(story, ADAPTIVE);
    for (const { word, bin } of all) {
      const since = moves.findLast(([from]) => from <= bin)[0];
      if (word === "cut, cut, cut") assert.equal(rate.slice(since, bin + 1).filter((_, at) => cutAt(since + at) > 0.025).length, 3);
      else if (word.startsWith("cut")) {
        assert.equal(word, `cut ${Math.round(100 * cutAt(bin))} %`);
        assert.ok(sum(rejected[0].slice(Math.max(0, bin - SECOND), bin + 2)), `${index}: a rejection before bin ${bin}`);
      } else if (/probes|speeds up/.test(word)) assert.ok(rate[bin] > Math.min(...rate.slice(Math.max(0, bin - 5 * SECOND), bin).filter(Boolean)), `it rises: ${index}: ${word} at ${bin}`);
    }
    // "Near the limit little, and far above it more."
    moves.forEach(([from], move) => {
      const to = moves[move + 1]?.[0] ?? bins;
      const found = all.find(({ word, bin }) => word === "found" && bin >= from && bin < to)?.bin ?? to;
      for (let bin = from + 1; bin < to; bin++) if (rate[bin - 1] && cutAt(bin) > 0.025) (bin > found ? late : early).push(cutAt(bin));
    });
  }
  const tenth = (cuts) => cuts.sort((a, b) => b - a)[Math.floor(cuts.length / 10)];
  assert.ok(tenth(late) < 0.15 && tenth(early) > 1.5 * tenth(late), `a tenth of the cuts is deeper than ${tenth(early)}, and later ${tenth(late)}`);
});

test("“found” is said only where the client sends what the limit allows and is rejected little, for 3.5 s", () => {
  let found = 0;
  for (const { bin, track, share } of [...runs, ...turned].flatMap((story) => told(story, ADAPTIVE).filter(({ word }) => word === "found")
    .map(({ bin }) => ({ bin, track: story.tracks[ADAPTIVE], share: story.limitAt(bin) / story.clients })))) {
    const [from, seconds] = [bin - 3.5 * SECOND, 3.5];
    const sent = sum(track.sent[0].slice(from, bin)) / seconds;
    assert.ok(Math.abs(sent / share - 1) < 0.055, `${sent} of ${share}`);
    assert.ok(sum(track.rejected[0].slice(from, bin)) / seconds < 0.08 * share);
    found++;
  }
  assert.ok(found >= 3 * runs.length, "after each move");
  const steady = (rate) => Array.from({ length: 50 }, () => rate / SECOND);
  for (const [rate, since, is] of [[100, 0, true], [94, 0, false], [106, 0, false], [100, 30, false]]) assert.equal(hasFound(steady(rate), steady(0), 100, 50, since), is, `${rate}`);
  // The mean alone would be right here.
  assert.equal(hasFound(steady(100).map((calls, bin) => calls * (bin % 10 < 5 ? 0.8 : 1.2)), steady(0), 100, 50, 0), false);
  assert.equal(hasFound(steady(100), steady(9), 100, 50, 0), false);
});

test("a moved limit counts from its bin on, in all worlds, and ends the script", () => {
  const story = run(1, { span: 100 });
  story.move(50);
  story.move(40);
  story.run(300);
  assert.deepEqual(story.moves, [[0, 100], [100, 40]]);
  assert.equal(story.possible.at(-1), 20 + 10 * 100 + 20 * 40);
  for (const law of [NONE, BACKOFF]) {
    const served = story.tracks[law].servedBefore;
    assert.ok(Math.abs(served[300] - served[150] - 15 * 40) <= 1, LAWS[law]);
  }
});

test("a picture has no word over another, and stays within its bounds", () => {
  for (const [wide, tall] of [[666, 500], [230, 240], [900, 620]]) {
    for (const step of LAWS.keys()) {
      for (const now of [3, 60, 333.4, SPAN]) {
        const svg = picture({ story: runs[0], step, now, ghosts: [0, 1, 2, 3].filter((law) => law !== step), top: 260, wide, tall });
        assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
        const boxes = [...svg.matchAll(/<text class="(?!rate|time|x")([^"]*)" x="([\d.-]+)%" y="([\d.-]+)%">([^<]*)</g)]
          .map(([, , x, y, word]) => [x / 100 * wide, y / 100 * tall, word.length * 6.3, word]);
        for (const [x, y, width, word] of boxes) {
          assert.ok(x >= 0 && x + width <= wide + 2 && y >= 0 && y <= tall, `${word} at ${x}, ${y}`);
          for (const [otherX, otherY, otherWidth, other] of boxes) {
            assert.ok(word === other || Math.abs(y - otherY) >= 17 || x + width <= otherX || otherX + otherWidth <= x, `${word} over ${other}`);
          }
        }
      }
    }
  }
});

test("a picture has a line for each client, their sum and their share", () => {
  for (const clients of [1, 3]) {
    const story = run(31, { clients, limits: SHARED.limits, span: 100 });
    const svg = picture({ story, step: ADAPTIVE, now: 100, ghosts: [NONE], top: 130, wide: 666, tall: 500 });
    const count = (style) => svg.split(`class="${style}"`).length - 1;
    assert.deepEqual(["mine", "other", "all", "ghost"].map(count), clients > 1 ? [1, 2, 1, 1] : [1, 0, 0, 1]);
    assert.equal(svg.includes('class="share"'), clients > 1);
  }
});

test("the page's code is the README's", () => {
  const bare = (code) => code.replace(/ +\/\/.*/g, "");
  const readme = bare(fs.readFileSync(path.join(root, "README.md"), "utf8"));
  const plain = (html) => html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  const code = [...fs.readFileSync(path.join(root, "web-demo/index.html"), "utf8").matchAll(/<pre[^>]*>(.*?)<\/pre>/gs)].map(([, html]) => bare(plain(html)));
  assert.equal(code.length, 3);
  for (const text of code) assert.ok(readme.includes(`\n${text}\n\`\`\``), text);
});

/** The text that a PNG carries under a key. */
function textOf(png, key) {
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    if (png.toString("latin1", at + 4, at + 8) === "tEXt" && data.toString("latin1").startsWith(`${key}\0`)) return data.toString("latin1", key.length + 1);
  }
}

/** The PNG with a text under a key. Readers ignore the checksum of a chunk that they do not read, so it is 0. */
function withText(png, key, text) {
  const data = Buffer.from(`tEXt${key}\0${text}`, "latin1");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length - 4);
  return Buffer.concat([png.subarray(0, 33), length, data, Buffer.alloc(4), png.subarray(33)]);
}

test("the picture for links shows the first paint", async () => {
  const file = path.join(root, "web-demo/public/og.png");
  const html = fs.readFileSync(path.join(root, "web-demo/index.html"), "utf8");
  const style = ["tokens", "page", "search"].map((name) => fs.readFileSync(path.join(root, `web-demo/src/style/${name}.css`), "utf8")).join("");
  const part = (pattern) => first(html, exports).match(pattern)[0];
  const shown = `<!doctype html><style>${style}
    body { padding: 36px 48px; } h1 { margin: 0 0 8px; font-size: 46px; } .pic { height: 460px; } .rail { display: none; } .plot { width: calc(100% - 60px); }
    .home svg { width: 48px; height: 40px; } .home { position: absolute; right: 48px; top: 28px; font-size: 30px; font-family: var(--plain); font-weight: 650; display: flex; gap: 12px; align-items: center; color: inherit; text-decoration: none; }
    .plot text { font-size: 18px; } .plot .rate, .plot .time { font-size: 16px; }</style>
    ${part(/<a class="home".*?<\/a>/s)}${part(/<h1>.*?<\/h1>/)}<div class="search" style="display:block;padding:0">${part(/<div class="pic">.*?<\/div>\n<div/s)}></div></div>`;
  const digest = createHash("sha256").update(shown).digest("hex");
  if (process.env.BLESS) {
    const page = await (await browser()).newPage({ viewport: { width: 1200, height: 630 } });
    await page.setContent(shown);
    fs.writeFileSync(file, withText(await page.screenshot(), "Source", digest));
    await page.close();
  }
  const png = fs.readFileSync(file);
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1200, 630]);
  assert.equal(textOf(png, "Source"), digest, "`BLESS=1 node --test test/story.test.mjs` in web-demo draws it again");
});

test("the built page has the first paint and no comment", () => {
  const html = fs.readFileSync(path.join(dist, "index.html"), "utf8");
  assert.ok(html.includes('id="mine"'));
  assert.doesNotMatch(html, /<!--/);
});
