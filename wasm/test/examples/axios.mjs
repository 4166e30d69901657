// Forty calls by axios through a gate: `node axios.mjs URL`.
import axios from "axios";
import { tidegate } from "tidegate";

const gate = tidegate();
const http = axios.create({ baseURL: process.argv[2], adapter: "fetch", env: { fetch: gate.fetch } });

const answers = await Promise.all(Array.from({ length: 40 }, () => http.get("/")));
console.log(JSON.stringify({ served: answers.filter(({ status }) => status === 200).length, admitted: gate.stats().admitted }));
