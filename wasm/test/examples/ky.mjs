// Forty calls by ky through a gate: `node ky.mjs URL`. The gate retries, so ky must not, and a wait is no timeout.
import ky from "ky";
import { tidegate } from "tidegate";

const gate = tidegate();
const api = ky.create({ prefix: process.argv[2], fetch: gate.fetch, retry: 0, timeout: false });

const answers = await Promise.all(Array.from({ length: 40 }, () => api.get("")));
console.log(JSON.stringify({ served: answers.filter(({ status }) => status === 200).length, admitted: gate.stats().admitted }));
