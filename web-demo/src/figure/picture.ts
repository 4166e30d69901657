/**
 * The picture's lines and words: pure functions of a story, for the page and for its first paint. Lines
 * are in bins and thousandths of the height, and stretch with the picture. Words have positions in per cent.
 */

import { LAWS, SECOND, SPAN, type Story, type Track } from "./story";
import { unread, words, type Reading } from "./words";

export const NAMES = ["hammer", "back off", "remember", "tidegate"];

export interface View {
  story: Story;
  /** The client that is shown, by its number. */
  step: number;
  /** How much of the story is shown, in bins. */
  now: number;
  /** Other clients that are shown as grey lines. */
  ghosts: readonly number[];
  /** The highest rate on the axis, in calls per second. */
  top: number;
  /** The size of the plot in pixels, which decides where words have room. */
  wide: number;
  tall: number;
  /** Leaves out points of a line, for a short path. */
  thin?(points: Place[], style: string): Place[];
}

export type Point = [bin: number, perSecond: number];
/** In the units of the lines. */
export type Place = [bin: number, level: number];
type Box = [left: number, top: number, right: number, bottom: number];

const meet = ([l, t, r, b]: Box, [left, top, right, bottom]: Box): boolean => l < right && left < r && t < bottom && top < b;

/** How far words may move to the left before they are placed again, in pixels. */
const STALE = 12;

/** How far the words of each track have been read. */
const readings = new WeakMap<Track, Reading>();

/** The height of the lines in their own units. */
export const TALL = 400;

/** What has been smoothed, where later bins change nothing. */
const smoothed = new WeakMap<number[], number[]>();

/** Calls per second around a bin: the mean of a second, with more weight in the middle. The end has that of its last second. */
function smooth(calls: number[], bin: number, end: number): number {
  let known = smoothed.get(calls);
  if (!known) smoothed.set(calls, known = []);
  if (bin <= end - 6 && known[bin] !== undefined) return known[bin];
  let [sum, weights] = [0, 0];
  const middle = Math.max(0, Math.min(bin, end - 6));
  for (let other = Math.max(0, middle - 5); other <= middle + 5 && other < end; other++) {
    const weight = 6 - Math.abs(other - middle);
    sum += calls[other]! * weight;
    weights += weight;
  }
  const mean = weights && sum / weights * SECOND;
  if (bin <= end - 6) known[bin] = mean;
  return mean;
}

/** A path through these points. */
const path = (points: readonly Place[], begin = "M"): string => points.map(([x, y], index) => {
  const [beforeX, beforeY] = points[index - 1] ?? [0, 0];
  return index ? `l${x - beforeX} ${y - beforeY}` : `${begin}${x} ${y}`;
}).join("");

/** A line's height, in thousandths from the top. */
const level = (rate: number, top: number) => Math.round(TALL * (1 - Math.min(rate, 1.02 * top) / top));

/** The limit from a bin to the end, as a line with a step at each move. */
function limits(story: Story, from: number, end: number): Point[] {
  const points: Point[] = [[from, story.limitAt(from)]];
  for (const [bin, rate] of story.moves) if (bin > from && bin < end) points.push([bin, points.at(-1)![1]], [bin, rate]);
  points.push([end, points.at(-1)![1]], [end, story.limitAt(end)]);
  return points;
}

/** A client's line from one bin to another, in a run that has this many bins. */
const line = (calls: number[], from: number, to: number, bins: number): Point[] =>
  Array.from({ length: Math.max(0, Math.min(bins, to) - from) }, (_, index) => [from + index, smooth(calls, from + index, bins)]);

/** The lines from one bin to another, from back to front: the styles of each, and its path. */
export function lines({ story, step, now, ghosts, top, thin = (points) => points }: View, from: number, to: number): [styles: string[], d: string][] {
  const end = Math.floor(now);
  const { sent, rejected, all } = story.tracks[step]!;
  const place = ([bin, rate]: Point): Place => [bin, level(rate, top)];
  const levels = limits(story, from, end);
  const steps = (parts: number) => path(levels.map(([bin, rate]) => place([bin, rate / parts])), "");
  const draw = (style: string, calls: number[], bins = end): [string[], string] => [[style], path(thin(line(calls, from, to, bins).map(place), style))];
  // Each dash has its place in time, so each step is a line.
  const share = levels.map((point, index): [string[], string] => [["share"],
    path([point, levels[index + 1] ?? [to, point[1]] as Point].map(([bin, rate]) => place([bin, rate / story.clients])))]);
  const mine = line(sent[0]!, from, to, end);
  const trace = (points: Point[]) => thin(points.map(place), "mine");
  return [
    [["wash"], `M${from} ${TALL}L${steps(1)}H${to}V${TALL}z`],
    [["grid"], rates(top).map((rate) => `M${from} ${level(rate, top)}H${to}`).join("")],
    ...ghosts.map((law) => draw("ghost", story.tracks[law]!.sent[0]!, story.bins)),
    [["limit"], `M${steps(1)}`],
    [["limit ahead"], `M${place([end, story.limitAt(end)]).join(" ")}H${to}`],
    ...(story.clients > 1 ? [...share, draw("all", all), ...sent.slice(1).map((calls) => draw("other", calls))] : []),
    [["wasted"], wasted(mine, rejected[0]!, end).map(([above, below]) => `${path([...trace(above), ...trace(below).reverse()])}z`).join("")],
    [["halo", "mine"], path(trace(mine))],
  ];
}

/** The rates at the edge, with a line for each. */
const rates = (top: number): number[] => Array.from({ length: Math.floor(top / every(top)) + 1 }, (_, index) => index * every(top));
const every = (top: number): number => (top > 140 ? 50 : 25);

/** The words and numbers as SVG: those that stay, and those that move with time, with positions from the start of the story. */
export function notes({ story, step, now, ghosts, top, wide, tall }: View): [still: string, moving: string] {
  const [from, end] = [Math.max(0, Math.floor(now) - SPAN), Math.floor(now)];
  const left = Math.max(0, now - SPAN);
  const track = story.tracks[step]!;
  const shared = story.clients > 1;
  const limit = story.limitAt(end);
  const small = wide < 400;
  const x = (bin: number) => (bin - left) / SPAN * wide;
  const y = (rate: number) => (1 - Math.min(rate, 1.02 * top) / top) * tall;
  const at = (px: number, py: number, names = ["x", "y"]) => `${names[0]}="${+(100 * px / wide).toFixed(1)}%" ${names[1]}="${+(100 * py / tall).toFixed(1)}%"`;
  const gone = x(left) - x(0);
  const levels = limits(story, from, end);
  const mine = line(track.sent[0]!, from, end, end);
  const last = mine.at(-1);
  let [still, moving] = ["", ""];
  for (const rate of rates(top)) {
    if (!small || rate % (2 * every(top)) === 0) still += `<text class="rate" x="-7" y="${+(100 * y(rate) / tall).toFixed(2)}%">${rate}</text>`;
  }
  const interval = (small ? 20 : 10) * SECOND;
  for (let bin = Math.ceil(left / interval) * interval; bin <= left + SPAN; bin += interval) {
    moving += `<text class="time" ${at(x(bin) + gone, tall)}>${bin / SECOND} s</text>`;
  }
  place();
  return [still, moving];

  /** Places the words: those that matter most first, and none over another. */
  function place(): void {
    const boxes: Box[] = [];
    /** The part of the client's line from here to there. */
    const between = (start: number, end: number) => {
      const index = (px: number) => Math.max(0, Math.floor(left + px / wide * SPAN) - from);
      return mine.slice(index(start), index(end) + 2);
    };
    /** Puts a word where it has room. If it must be `clear`, it is on no line of the client or the limit either. If it `moves`, it may be a few pixels further left before it is placed again. */
    const put = (word: string, px: number, py: number, name: string, anchor: -1 | 0 | 1 = 0, clear = false, moves = false): boolean => {
      const width = word.length * (name.includes("bold") ? 7.4 : 6.8) * (small ? 0.94 : 1);
      const wanted = px - width * (1 - anchor) / 2;
      const start = Math.max(2, Math.min(wide - width - 2, wanted));
      const box: Box = [start - (moves && left ? STALE : 3), py - 9, start + width + 3, py + 9];
      if (py < 0 || py > tall - 4 || boxes.some((other) => meet(box, other))) return false;
      if (clear && [between(box[0], box[2]), levels].some((points) => points.some(([bin, rate], index) => {
        const [before, level] = points[index - 1] ?? [bin, rate];
        return meet(box, [x(before), Math.min(y(level), y(rate)), x(bin), Math.max(y(level), y(rate))]);
      }))) return false;
      boxes.push(box);
      // A word that has no room yet stays at the edge until its bin is further left.
      const goes = moves && start === wanted;
      const text = `<text class="${name}" ${at(start + (goes ? gone : 0), py)}>${word}</text>`;
      if (goes) moving += text;
      else still += text;
      return true;
    };
    put(small ? "calls/s" : "calls per second", 4, 2, "soft", 1);
    if (step < 2 && !shared && now > 60) {
      const bin = Math.min(from + 100, end - 20);
      const [sent, bad] = [smooth(track.sent[0]!, bin, end), smooth(track.rejected[0]!, bin, end)];
      if (y(sent - bad) - y(sent) > 40) put("wasted calls", x(bin), (y(sent) + y(sent - bad)) / 2, "bad bold");
      if (step === 1 && now > 140) put(small ? "waits, forgets" : "waits, tries again, forgets", x(Math.min(from + 300, end - 60)), y(smooth(track.sent[0]!, Math.min(from + 300, end - 60), end)) - 18, "");
    }
    const reading = readings.get(track) ?? unread();
    readings.set(track, reading);
    const happened = words(LAWS[step]!, track, story, end, reading).filter(({ bin }) => bin >= left);
    for (const { word, bin, place } of happened.sort((a, b) => b.weight - a.weight || a.bin - b.bin)) {
      const name = word === "found" ? "mark bold" : "";
      const said = word === "found" ? "✓ found" : word;
      const half = said.length * 3.6 + 6;
      const [px, py] = [x(bin), y(smooth(track.sent[0]!, bin, end))];
      // A word that would leave at the edge is no longer said: there it would be over the line.
      if (left && px < half + STALE) continue;
      if (place === "left" || place === "right") {
        const [aside, anchor] = place === "left" ? [-10, -1 as const] : [14, 1 as const];
        [true, false].some((clear) => [0, 16, 32, -16].some((down) => put(said, px + aside, py + down, name, anchor, clear, true)));
        continue;
      }
      const above = place === "above";
      /** The height of the word if it is this far aside: it clears what is near there. */
      const room = (aside: number) => {
        const near = between(px + aside - half, px + aside + half).map(([, rate]) => y(rate));
        // Where the client is near its limit, the word clears that line as well.
        if (name) near.push(y(story.limitAt(bin) / story.clients));
        const close = near.filter((level) => Math.abs(level - py) < 40);
        return above ? Math.min(py, ...close) - 16 : Math.max(py, ...close) + 19;
      };
      [true, false].some((clear) => [0, half, -half].some((aside) => {
        const level = room(aside);
        const isPut = put(said, px + aside, level, name, 0, clear, true);
        if (isPut) moving += `<line class="lead" ${at(px + gone, above ? level + 8 : level - 9, ["x1", "y1"])} ${at(px + gone, above ? py - 5 : py + 5, ["x2", "y2"])}/>`;
        return isPut;
      }));
    }
    story.moves.forEach(([bin, rate], index) => {
      const before = story.moves[index - 1];
      if (!before || bin < left || bin > end || bin - before[0] < 50 || (story.moves[index + 1]?.[0] ?? Infinity) - bin < 50) return;
      const rises = rate > before[1];
      const level = y(Math.max(rate, before[1]));
      put(`${small ? "limit" : "the limit"} ${rises ? "rises" : "falls"}`, x(bin) + (rises ? -6 : 6), rises ? level + 14 : level - 12, "mark bold", rises ? -1 : 1, false, true);
    });
    if (shared) {
      const share = `equal share ${Math.round(limit / story.clients)}/s`;
      [true, false].some((clear) => [-11, 12].some((aside) => put(share, wide - 4, y(limit / story.clients) + aside, "", -1, clear)));
      if (now > 80 && step > 1) put("all together", 12, Math.max(y(limit), y(smooth(track.all, Math.min(from + 14, end - 1), end))) + 15, "", 1);
    }
    if (last && last[1] > top) put(`${Math.round(last[1])}/s ↑`, x(last[0]) - 10, 8, "mark bold", -1);
    for (const law of ghosts) {
      const bin = Math.min(from + 14, story.bins - 1);
      put(NAMES[law]!, 8, y(bin < 0 ? 0 : smooth(story.tracks[law]!.sent[0]!, bin, story.bins)) - 10, "soft", 1);
    }
  }
}

/** The stretches in which calls are rejected: the calls sent, and those served. */
function wasted(mine: Point[], rejected: number[], end: number): [sent: Point[], served: Point[]][] {
  const areas: [Point[], Point[]][] = [];
  let before = false;
  for (const point of mine) {
    const bad = smooth(rejected, point[0], end);
    if (bad > 0) {
      if (!before) areas.push([[], []]);
      areas.at(-1)![0].push(point);
      areas.at(-1)![1].push([point[0], point[1] - bad]);
    }
    before = bad > 0;
  }
  return areas;
}

/** In how many bins a cross has room. */
export const stretch = (wide: number): number => Math.max(5, Math.ceil(14 * SPAN / wide));

/** Where a client was rejected from a bin on, in the bin with the most of each stretch that is wide enough for a cross. */
export function crosses({ story, step, now, wide }: View, from: number): Point[] {
  const { sent: [sent], rejected: [rejected] } = story.tracks[step]!;
  const [per, end] = [stretch(wide), Math.floor(now)];
  const marks: Point[] = [];
  for (let begin = Math.floor(from / per) * per; begin < end; begin += per) {
    let [most, best, sum] = [0, begin, 0];
    for (let bin = Math.max(from, begin); bin < Math.min(end, begin + per); bin++) {
      const bad = rejected![bin]!;
      sum += bad;
      if (bad > most) [most, best] = [bad, bin];
    }
    // Where calls are rejected all the time, crosses are in equal distances.
    const bin = sum > 2 * per ? Math.min(end - 1, begin + (per >> 1)) : best;
    if (sum && bin >= from) marks.push([bin, smooth(sent!, bin, end)]);
  }
  return marks;
}

/** The end of the client's line, if it has begun. */
export const dot = ({ story, step, now }: View): Point[] => line(story.tracks[step]!.sent[0]!, Math.max(0, Math.floor(now) - 1), now, Math.floor(now));
