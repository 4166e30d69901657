// As axios.mjs, but wrapping each call: for clients that take no `fetch`. An error that has a
// `response` is read as that answer.
import axios from "axios";
import { tidegate } from "tidegate";

const gate = tidegate();
const get = (url) => gate.run((signal) => axios.get(url, { signal }), { key: "api" });

const answers = await Promise.all(Array.from({ length: 40 }, () => get(process.argv[2])));
console.log(JSON.stringify({ served: answers.filter(({ status }) => status === 200).length, admitted: gate.stats().admitted }));
