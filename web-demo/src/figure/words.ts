/** Words for what a client does, read from the rate of its law. Each is said once at most between two moves of the limit. */

import { SECOND, type LAWS, type Story, type Track } from "./story";

export interface Word {
  bin: number;
  word: string;
  /** Which words matter most when there is no room for all. */
  weight: number;
  /** Where it is: above or below the line, or beside its steep parts. */
  place: "above" | "below" | "left" | "right";
}

type Law = typeof LAWS[number];

/** The words for the first client in the bins before `end`. */
export function words(law: Law, track: Track, story: Pick<Story, "limit" | "clients" | "moves">, end: number): Word[] {
  if (law === "none" || law === "backoff") return [];
  const said: Word[] = [];
  let used = new Set<string>();
  const say = (bin: number, kind: string, word: string, weight: number, place: Word["place"] = "below") => {
    if (!used.has(kind)) said.push({ bin, word, weight, place });
    used.add(kind);
  };
  let [since, before, fallen, cut, level] = [0, story.limit[0]!, false, 0, 0];
  for (let bin = 1; bin < end; bin++) {
    const limit = story.limit[bin]!;
    if (limit !== before) {
      fallen = limit < before;
      [since, before, used] = [bin, limit, new Set()];
    }
    const [last, rate] = [track.rate[bin - 1]!, track.rate[bin]!];
    if (!rate) continue;
    // A law may stop for a moment. Only what lasts is a cut.
    const after = Math.max(...track.rate.slice(bin, bin + SECOND / 2));
    if (law === "aimd") {
      if (rate < 0.9 * last) say(bin, "cut", "halves", 2);
      else if (rate >= 25 && rate > last && !since) say(bin, "rises", "+1, +1, +1 …", 1, "above");
      continue;
    }
    if (!last) {
      [level, cut] = [rate, bin];
      say(bin, "first", "first ✕", 2, "above");
    } else if (after < 0.975 * last) {
      const deep = `cut ${Math.round(100 * (1 - after / last))} %`;
      if (fallen && !used.has("found")) say(bin, "cut", "cut, cut, cut", 3, "right");
      else if (used.has("found")) say(bin, "cut later", deep, 3);
      else say(bin, "cut", deep, 3);
      [level, cut] = [last, bin];
    } else if (!fallen && rate > 1.5 * level && since) say(bin, "doubles", "doubles", 4, "left");
    else if (!fallen && rate > 1.05 * level) say(bin, "probe", since ? "probes" : "searches", 2, "above");
    else if (bin - Math.max(cut, since) > 2.2 * SECOND && Math.abs(rate / level - 1) < 0.03) say(bin, "waits", "waits", since ? 2.5 : 1);
    if (hasFound(track.sent[0]!, limit / story.clients, bin, since)) say(bin, "found", "found", 5, "above");
  }
  return said;
}

/** Whether a client has sent what the limit allows for 3.5 s: each half second differs by less than 5.5 % on average. */
export function hasFound(sent: number[], share: number, bin: number, since: number): boolean {
  const HALF = SECOND / 2;
  if (bin - since < 7 * HALF) return false;
  let off = 0;
  for (let from = bin - 7 * HALF; from < bin; from += HALF) {
    let calls = 0;
    for (let at = from; at < from + HALF; at++) calls += sent[at]!;
    off += Math.abs(calls / HALF * SECOND / share - 1) / 7;
  }
  return off < 0.055;
}
