// Forty calls by OpenAI's SDK through a gate: `node openai.mjs URL`. The gate retries, so the SDK must not.
import OpenAI from "openai";
import { tidegate } from "tidegate";

const gate = tidegate();
const client = new OpenAI({ apiKey: "none", baseURL: process.argv[2], fetch: gate.fetch, maxRetries: 0 });

const answers = await Promise.all(Array.from({ length: 40 }, () => client.post("/", { body: {} }).asResponse()));
console.log(JSON.stringify({ served: answers.filter(({ status }) => status === 200).length, admitted: gate.stats().admitted }));
