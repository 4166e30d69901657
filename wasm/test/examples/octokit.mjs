// Forty calls by Octokit through a gate: `node octokit.mjs URL`. Its own throttling and retries are off.
import { Octokit } from "octokit";
import { tidegate } from "tidegate";

const gate = tidegate();
const baseUrl = process.argv[2].replace(/\/$/, "");
const octokit = new Octokit({ baseUrl, request: { fetch: gate.fetch }, throttle: { enabled: false }, retry: { enabled: false } });

const answers = await Promise.all(Array.from({ length: 40 }, () => octokit.request("GET /")));
console.log(JSON.stringify({ served: answers.filter(({ status }) => status === 200).length, admitted: gate.stats().admitted }));
