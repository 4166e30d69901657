// Two hundred calls to a rate-limited API: the program that every runtime runs.
import { tidegate } from "tidegate";

const [url] = (globalThis.Deno?.args ?? globalThis.process.argv.slice(2));
const gate = tidegate();
gate.on("throttled", ({ attempt }) => console.error(`throttled, attempt ${attempt}`));

const bodies = await Promise.all(Array.from({ length: 200 }, async () => {
  const answer = await gate.fetch(url);
  return answer.text();
}));

const served = bodies.filter((body) => body === "served\n").length;
const { admitted, throttled } = gate.stats();
console.log(JSON.stringify({ served, admitted, throttled }));
