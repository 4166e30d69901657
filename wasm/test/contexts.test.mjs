// The code of a call runs in the async context of its caller, in every runtime and entry: see contexts.mjs.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { Miniflare } from "miniflare";
import { Server } from "./redis-server.mjs";
import { RUNTIMES } from "./runtimes.mjs";
import { bundle } from "./workers.mjs";

const packed = path.join(import.meta.dirname, "node_modules/tidegate");
const { exports } = JSON.parse(fs.readFileSync(path.join(packed, "package.json"), "utf8"));
const ALL = Object.keys(exports).filter((entry) => !/\.\w+$/.test(entry)).map((entry) => path.posix.join("tidegate", entry));

/** The entries that need more than every runtime has. All others run in each. */
const ONLY = { "tidegate/durable": "workerd", "tidegate/redis": "Node 22", "tidegate/tabs": "Node 24" };

/** Nothing may run in another context, and some entry must have made calls. */
function check(t, { faults, made }) {
  t.diagnostic(`${made} calls`);
  assert.deepEqual(faults, []);
  assert.ok(made);
}

for (const [name, [program, ...args]] of Object.entries(RUNTIMES)) {
  test(`${name} runs each call in the async context of its caller`, async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-contexts-"));
    t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
    const server = name === ONLY["tidegate/redis"] ? new Server() : undefined;
    t.after(() => server?.dispose());
    await server?.start();
    const entries = ALL.filter((entry) => (ONLY[entry] ?? name) === name);
    const disk = entries.includes("tidegate/tabs") ? [`--localstorage-file=${folder}/items`] : [];
    const run = async (entries, telemetry) => {
      const given = JSON.stringify({ entries, port: server?.port, folder, telemetry });
      const { stdout } = await promisify(execFile)(program, [...disk, ...args, "contexts-run.mjs", given], { cwd: import.meta.dirname });
      check(t, JSON.parse(stdout));
    };
    await run(entries, false);
    if (name === "Node 22") await run(["tidegate"], true);
  });
}

test("workerd runs each call in the async context of its caller", async (t) => {
  const entries = ALL.filter((entry) => ONLY[entry] === "workerd" || (!ONLY[entry] && exports[entry.replace("tidegate", ".")].workerd));
  const contents = `
    import { AsyncLocalStorage } from "node:async_hooks";
    import { env } from "cloudflare:workers";
    import { TidegateObject } from "tidegate/durable";
    ${entries.map((entry, i) => `import * as entry${i} from "${entry}";`).join("\n")}
    import { contexts } from "./contexts.mjs";
    export class Budget extends TidegateObject {
      policy() { return { requests: { limit: 1, per: 5 } }; }
    }
    const entries = { ${entries.map((entry, i) => `"${entry}": entry${i}`)} };
    const makers = {};
    for (const [entry, { tidegate }] of Object.entries(entries)) if (tidegate) makers[entry] = tidegate;
    const shared = makers["tidegate/durable"];
    makers["tidegate/durable"] = ({ requests, law, concurrency, ...options }) => shared({ ...options, shared: env.TIDEGATE });
    export default { async fetch() { return Response.json(await contexts(new AsyncLocalStorage(), makers)); } };`;
  const miniflare = new Miniflare({
    modules: await bundle(contents), compatibilityDate: "2026-04-01", compatibilityFlags: ["nodejs_als"],
    durableObjects: { TIDEGATE: { className: "Budget", useSQLite: true } },
  });
  t.after(() => miniflare.dispose());
  check(t, await (await miniflare.dispatchFetch("http://worker/")).json());
});
