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

/** How long a law's rate must stay low to be a cut, in bins. A bin's words are known after as many. */
const LASTS = SECOND / 2;

/** How far the words of a track have been read. */
export interface Reading { bin: number; said: Word[]; used: Set<string>; since: number; before: number; fallen: boolean; cut: number; cuts: number; level: number }

export const unread = (): Reading => ({ bin: 1, said: [], used: new Set(), since: 0, before: 0, fallen: false, cut: 0, cuts: 0, level: 0 });

/** The words for the first client in the bins before `end`. Goes on from an earlier `reading` of the same track, if there is one. */
export function words(law: Law, track: Track, story: Pick<Story, "limit" | "clients" | "moves">, end: number, reading = unread()): Word[] {
  if (law === "none" || law === "backoff") return [];
  const { said } = reading;
  for (; reading.bin + LASTS <= end; reading.bin++) read(law, track, story, reading);
  return said.filter(({ bin }) => bin + LASTS <= end);
}

function read(law: Law, track: Track, story: Pick<Story, "limit" | "clients" | "moves">, at: Reading): void {
  const { bin } = at;
  const say = (kind: string, word: string, weight: number, place: Word["place"] = "below") => {
    if (!at.used.has(kind)) at.said.push({ bin, word, weight, place });
    at.used.add(kind);
  };
  const limit = story.limit[bin]!;
  at.before ||= story.limit[0]!;
  if (limit !== at.before) {
    // A drag is many moves. What has been said during one is not said again.
    if (bin - at.since > 2 * SECOND) at.used = new Set();
    at.fallen = limit < at.before;
    [at.since, at.before, at.cuts] = [bin, limit, 0];
  }
  const { since, fallen, used, level } = at;
  const [last, rate] = [track.rate[bin - 1]!, track.rate[bin]!];
  if (!rate) return;
  // A law may stop for a moment. Only what lasts is a cut.
  const after = Math.max(...track.rate.slice(bin, bin + LASTS));
  if (law === "aimd") {
    if (rate < 0.9 * last) say("cut", "halves", 2);
    else if (rate >= 25 && rate > last && !since) say("rises", "+1, +1, +1 …", 1, "above");
    return;
  }
  if (!last) {
    [at.level, at.cut] = [rate, bin];
    say("first", "first ✕", 2, "above");
  } else if (after < 0.975 * last) {
    const deep = `cut ${Math.round(100 * (1 - after / last))} %`;
    at.cuts++;
    if (fallen && !used.has("found")) {
      if (at.cuts === 3) say("cut", "cut, cut, cut", 3, "right");
    } else say(used.has("found") ? "cut later" : "cut", deep, 3);
    [at.level, at.cut] = [last, bin];
  } else if (!fallen && rate > 1.5 * level && since) say("speeds", "speeds up", 4, "left");
  else if (!fallen && rate > 1.05 * level) say("probe", since ? "probes" : "searches", 2, "above");
  else if (bin - Math.max(at.cut, since) > 2.2 * SECOND && Math.abs(rate / level - 1) < 0.03) say("waits", "waits", since ? 2.5 : 1);
  if (hasFound(track.sent[0]!, track.rejected[0]!, limit / story.clients, bin, since)) say("found", "found", 5, "above");
}

/** Whether a client has sent what the limit allows for 3.5 s: each half second differs by less than 5.5 % on average, and few calls are rejected. */
export function hasFound(sent: number[], rejected: number[], share: number, bin: number, since: number): boolean {
  const HALF = SECOND / 2;
  if (bin - since < 7 * HALF) return false;
  let [off, bad] = [0, 0];
  for (let from = bin - 7 * HALF; from < bin; from += HALF) {
    let calls = 0;
    for (let at = from; at < from + HALF; at++) [calls, bad] = [calls + sent[at]!, bad + rejected[at]!];
    off += Math.abs(calls / HALF * SECOND / share - 1) / 7;
  }
  return off < 0.055 && bad < 0.08 * 3.5 * share;
}
