/** Shares a figure as a link or an image. Loads with the first press of a button. */

import { download } from "../plot/download";
import { tone } from "../plot/theme";
import { link } from "./link";

/** Copies the figure's address, or an image of it, and returns what was done. */
export async function share(what: string, figure: HTMLElement, form: HTMLFormElement): Promise<string> {
  if (what === "Copy link") {
    await navigator.clipboard.writeText(link(figure.id, form));
    return "The link is copied.";
  }
  const image = await picture(figure);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
    return "The image is copied.";
  } catch {
    download(`tidegate-${figure.id}.png`, image);
    return "This browser cannot copy images, so it is saved as a file.";
  }
}

/** The figure's canvases side by side, with their titles above and the caption below. */
function picture(figure: HTMLElement): Promise<Blob> {
  const scale = devicePixelRatio || 1;
  const shots = [...figure.querySelectorAll<HTMLCanvasElement>(".screens canvas, .plot canvas, canvas.tall")].filter((canvas) => canvas.width > 0);
  const [gap, foot] = [16, 96];
  const width = shots.reduce((sum, shot) => sum + shot.width / scale + gap, gap);
  const height = Math.max(...shots.map((shot) => shot.height / scale));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * scale, (height + 40 + foot) * scale];
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  pen.fillStyle = tone("raised");
  pen.fillRect(0, 0, width, height + 40 + foot);
  pen.fillStyle = tone("ink");
  pen.font = "600 14px system-ui, sans-serif";
  let x = gap;
  for (const shot of shots) {
    pen.fillText((shot.parentElement?.querySelector("h3")?.innerText ?? "tidegate").replace(/\s+/g, " "), x, 26, shot.width / scale);
    pen.drawImage(shot, x, 40, shot.width / scale, shot.height / scale);
    x += shot.width / scale + gap;
  }
  pen.font = "14px system-ui, sans-serif";
  let [line, y] = ["", height + 64];
  for (const word of `${figure.querySelector("figcaption")!.textContent} tidegate`.split(" ")) {
    if (pen.measureText(`${line} ${word}`).width > width - 2 * gap) {
      pen.fillText(line, gap, y);
      [line, y] = [word, y + 20];
    } else line = line ? `${line} ${word}` : word;
  }
  pen.fillText(line, gap, y);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser cannot make an image")))));
}
