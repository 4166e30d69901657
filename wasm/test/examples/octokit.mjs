// Forty calls by Octokit through a gate: `node octokit.mjs URL`. The class of the package `octokit` extends this one.
import { Octokit } from "@octokit/core";
import { tidegate } from "tidegate";

const gate = tidegate();
const baseUrl = process.argv[2].replace(/\/$/, "");
const octokit = new Octokit({ baseUrl, request: { fetch: gate.fetch } });

const answers = await Promise.all(Array.from({ length: 40 }, () => octokit.request("GET /")));
console.log(JSON.stringify({ served: answers.filter(({ status }) => status === 200).length, admitted: gate.stats().admitted }));
