// Aborts calls after their headers have arrived, and records when. Every runtime runs it, including a page.
import { tidegate } from "tidegate";

/** Three calls that a signal ends, one that its deadline ends, and then one that is read in the freed place. */
export async function abort(url) {
  const gate = tidegate({ concurrency: 1 });
  const aborted = [];
  for (let i = 0; i < 3; i++) {
    const controller = new AbortController();
    const answer = await gate.fetch(`${url}stream`, { signal: controller.signal });
    setTimeout(() => {
      aborted.push(performance.timeOrigin + performance.now());
      controller.abort(new Error("enough"));
    }, 20);
    const ended = await answer.text().catch(() => "ended");
    if (ended !== "ended") throw new Error(`the body came to its end: ${ended}`);
  }
  const late = await gate.fetch(`${url}stream`, {}, { deadline: 1_000 });
  const ended = await late.text().catch(({ name }) => name);
  const answer = await gate.fetch(`${url}last`);
  return { aborted, ended, last: await answer.text(), url: answer.url, inFlight: gate.stats().inFlight };
}

const [url] = globalThis.Deno?.args ?? globalThis.process?.argv.slice(2) ?? [];
if (url) abort(url).then((told) => console.log(JSON.stringify(told)));
