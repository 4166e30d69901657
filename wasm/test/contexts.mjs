// In which async context the code of a call runs: each way to make a call, in each situation in which another call, a
// timer or a method lets it through. Every runtime runs this file. Each call has a store, in which its code leaves marks.

const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
const hour = { limit: 1, per: 3_600_000 };

/** The ways to make a call whose attempts run `work`. */
const VERBS = {
  run: (gate, work, options) => gate.run(work, options),
  wrap: (gate, work, options) => gate.wrap?.(work, options)(),
  "with().run": (gate, work, options) => gate.with?.({ priority: 1 }).run(work, options),
  fetch: (gate, work, options) => gate.fetch(work, {}, options).then((response) => response.text()),
};

/** The marks of a call that is served at its first attempt. */
const SERVED = "sent work outcome cost settled done";

/**
 * For each situation the gate's options; also `call`, the options of call `i`, `outcome` and `work` of an attempt, `marks`,
 * how many `calls`, and `hold`, which returns the function that lets the calls through.
 */
const SITUATIONS = {
  "the end of another call": { options: { law: "none", concurrency: 2 } },
  "a timer": { options: { requests: { limit: 1, per: 5 } } },
  "a call of lower priority": { options: { law: "none", concurrency: 1 }, call: (i) => ({ priority: i % 8 }) },
  "a retry": {
    options: { requests: { limit: 1, per: 5 }, backoff: { base: 1, max: 2 } },
    outcome: (attempt) => (attempt === 1 ? { outcome: "throttled", retryAfter: 0 } : "ok"),
    marks: `sent work outcome cost throttled retry settled ${SERVED}`,
  },
  "an attempt that gives up": {
    options: { requests: { limit: 1, per: 5 }, attempts: 1 },
    outcome: () => "busy",
    marks: "sent work outcome cost throttled gaveUp settled done",
  },
  "its deadline": {
    options: { law: "none", concurrency: 1 },
    calls: 2,
    call: (i) => ({ deadline: 200 * (i + 1), retry: false }),
    work: (signal, mark) => new Promise((_, fail) => signal.addEventListener("abort", () => fail(mark("aborted")))),
    marks: "sent work aborted outcome settled done",
    not: "wrap",
  },
  "the abort of another call": {
    options: { requests: { limit: 1, per: 1_000, burst: 20 } },
    // Of the entries whose calls have costs.
    needs: "soonest",
    calls: 10,
    hold(gate) {
      for (let i = 0; i < 10; i++) gate.tryAcquire().settle();
      const controller = new AbortController();
      gate.run(() => {}, { cost: 20, priority: 7, signal: controller.signal }).catch(() => {});
      return () => controller.abort();
    },
  },
  "a permit that is settled": {
    options: { law: "none", concurrency: 1 },
    needs: "pause",
    hold(gate) {
      const permit = gate.tryAcquire();
      return () => permit.settle();
    },
  },
  resume: { options: { law: "none" }, needs: "pause", calls: 1_100, hold: (gate) => (gate.pause(), gate.resume) },
  setPolicy: { options: { requests: hour }, needs: "setPolicy", hold: (gate) => (gate.tryAcquire(), () => gate.setPolicy({ law: "none" })) },
  reset: {
    options: { law: "none" },
    needs: "pause",
    hold(gate) {
      gate.tryAcquire().settle({ outcome: "throttled", retryAfter: 1_209_600_000 });
      return () => gate.reset();
    },
  },
  "a key that becomes free": { options: { law: "none", keys: 1 }, needs: "pause", call: (i) => ({ key: `key ${i}` }), waits: 0 },
  "one of its keys": { options: { law: "none", concurrency: 2 }, needs: "snapshot", call: (i) => ({ key: ["all", `part ${i % 2}`] }) },
};

/** Returns a list of faults, and how many calls were made. `store` is an `AsyncLocalStorage`, and `makers` create gates. */
export async function contexts(store, makers) {
  const faults = [];
  let made = 0;
  for (const [entry, make] of Object.entries(makers)) {
    const before = made;
    const isLite = entry === "tidegate/lite";
    for (const [situation, row] of Object.entries(SITUATIONS)) {
      for (const [verb, call] of Object.entries(VERBS)) {
        const stray = [];
        const mark = (name, id = store.getStore()?.id) => {
          const own = store.getStore();
          (own?.marks ?? stray).push(id === own?.id ? name : `${name} of ${id}`);
        };
        // `fetch` receives the work in place of a URL.
        const gate = await make({ ...row.options, ...(isLite ? {} : { warnAfter: Infinity }), fetch: (work, { signal } = {}) => work(signal), key: () => (mark("key"), "") });
        // A shared gate has few methods, and limits concurrency where the budget is held, at a slow pace.
        if (!gate[verb.split("(")[0]] || row.not === verb || (row.needs && !gate[row.needs]) || (row.options.concurrency && !gate.pause)) {
          await gate.close();
          continue;
        }
        for (const event of ["sent", "settled", "throttled", "retry", "gaveUp"]) gate.on(event, () => mark(event));
        let waited = 0;
        gate.on("wait", () => waited++);
        const through = row.hold?.(gate);
        const all = Array.from({ length: row.calls ?? 12 }, (_, id) => ({ id, marks: [] }));
        const calls = all.map((own) => store.run(own, async () => {
          let attempt = 0;
          const work = async (signal) => {
            mark("work", own.id);
            attempt++;
            await (row.work ? row.work(signal, (name) => mark(name, own.id)) : sleep(1));
            return new Response("served");
          };
          const answer = call(gate, work, {
            ...row.call?.(own.id),
            outcome: () => (mark("outcome", own.id), row.outcome?.(attempt) ?? "ok"),
            ...(isLite ? {} : { actualCost: () => void mark("cost", own.id) }),
          });
          await Promise.resolve(answer).catch(() => {});
          mark("done", own.id);
        }));
        through?.();
        await Promise.all(calls);
        await gate.close();
        made += all.length;
        const name = `${entry}, ${verb}, let through by ${situation}`;
        const expected = `${verb === "fetch" && !row.call?.(0).key ? "key " : ""}${isLite ? (row.marks ?? SERVED).replaceAll(" cost", "") : (row.marks ?? SERVED)}`;
        const wrong = all.filter(({ marks }) => marks.join(" ") !== expected);
        if (wrong.length || stray.length) faults.push(`${name}: ${wrong.length} of ${all.length} calls, such as "${wrong[0]?.marks.join(" ").slice(0, 200)}" in place of "${expected}"; outside of any: ${stray.length}`);
        if (waited < (row.waits ?? all.length / 2)) faults.push(`${name}: only ${waited} calls waited`);
      }
    }
    if (made === before) faults.push(`${entry} made no calls`);
  }
  return { faults, made };
}
