/** Exports: the scenario file, the numbers, and the plots. */

import { clock } from "../plot/number";
import { tone, type Tone } from "../plot/theme";
import type { Lane } from "./lane";
import { NO_GATE } from "./laws";
import type { State } from "./state";
import type { Card } from "./view";

/** The base name of a state's files. */
export const fileName = ({ base }: State): string => base || "tidegate-lab";

/** The command that runs the same state. */
export function command(state: State): string {
  const laws = state.laws.filter((law) => law !== NO_GATE);
  const run = `cargo run --release -p tidegate-sim -- run ${fileName(state)}.toml --law ${laws.join() || "none"} --seeds ${state.seed}`;
  return laws.length < state.laws.length ? `${run}\n# ${NO_GATE} is the law none with a file that has no [server.hints]` : run;
}

/** One line per bin and law. A law's served and throttled calls over all bins add up to its metric `calls`. */
export function csv(lanes: Lane[]): string {
  const lines = ["law,from_s,served,throttled,sent,mean_wait_s"];
  for (const { law, bins, world } of lanes) {
    bins.served.forEach((served, index) => {
      const from = Math.round(index * world.bin * 1e6) / 1e6;
      const left = bins.left[index]!;
      lines.push(`${law},${from},${served},${bins.throttled[index]!},${left},${left > 0 ? bins.waited[index]! / left : ""}`);
    });
  }
  return lines.join("\n") + "\n";
}

/** A plot's caption, with the names of its lines if it has two. The first line is solid. */
function inWords(caption: Element): string {
  const [first, second] = [...caption.querySelectorAll("li")].map((line) => line.textContent);
  const title = caption.querySelector("h4")?.textContent ?? "";
  return second ? `${title} (solid: ${first}, broken: ${second})` : title;
}

/** All plots in one image, with the laws' names and a title. */
export function picture(cards: Card[], title: string, now: number): Promise<Blob> {
  const gap = 24;
  const scale = window.devicePixelRatio || 1;
  const across = cards.length === 4 ? 2 : Math.min(cards.length, 3);
  const boxes = cards.map(({ plots }) => plots.map(({ series }) => series.host.querySelector("canvas")));
  const width = Math.max(1, ...boxes.flat().map((canvas) => (canvas ? canvas.width / scale : 0)));
  const heights = (boxes[0] ?? []).map((canvas) => (canvas ? canvas.height / scale : 0));
  const captions = cards[0] ? [...cards[0].element.querySelectorAll(".caption")].slice(0, heights.length).map(inWords) : [];
  const tall = 40 + heights.reduce((sum, height) => sum + height + 22, 0);
  const canvas = document.createElement("canvas");
  const down = Math.ceil(cards.length / across);
  canvas.width = (across * width + (across + 1) * gap) * scale;
  canvas.height = (64 + down * tall) * scale;
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  pen.fillStyle = tone("raised");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  const write = (text: string, x: number, y: number, colour: Tone, font: string) => {
    pen.fillStyle = tone(colour);
    pen.font = `${font} system-ui, sans-serif`;
    pen.fillText(text, x, y, canvas.width / scale - x - gap);
  };
  write(title, gap, 32, "ink", "600 16px");
  write(`tidegate, after ${clock(now)}`, gap, 52, "soft", "12px");
  cards.forEach(({ lane }, index) => {
    const x = gap + (index % across) * (width + gap);
    let y = 64 + Math.floor(index / across) * tall;
    write(lane.law, x, y + 26, (["s1", "s2", "s3", "s4", "s5", "s6"] as const)[index]!, "600 15px");
    y += 36;
    boxes[index]!.forEach((box, row) => {
      write(captions[row] ?? "", x, y + 14, "soft", "12px");
      if (box) pen.drawImage(box, x, y + 20, box.width / scale, box.height / scale);
      y += heights[row]! + 22;
    });
  });
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser cannot make an image of this size"))), "image/png"));
}
