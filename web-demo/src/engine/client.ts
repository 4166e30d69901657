/** The page's side of the worker. */

import { decode } from "./frame";
import { EngineError, type Engine, type World, type WorldSpec } from "./index";
import type { Opened, Reply, Request } from "./messages";

type Settle = { resolve: (value: never) => void; reject: (error: Error) => void; world: number };
type Unnumbered<T> = T extends { id: number } ? Omit<T, "id"> : never;

export async function connect(): Promise<Engine> {
  const line = new Line();
  await line.ask({ ask: "start" }).catch((error: unknown) => {
    line.end();
    throw error;
  });
  let worlds = 0;
  return {
    laws: () => line.ask<string[]>({ ask: "laws" }),
    parse: (file) => line.ask<object>({ ask: "parse", file }),
    print: (scenario) => line.ask<string>({ ask: "print", scenario }),
    open: async (spec: WorldSpec) => {
      const world = ++worlds;
      const opened = await line.ask<Opened>({ ask: "open", world, ...spec });
      return hold(line, world, opened);
    },
  };
}

function hold(line: Line, world: number, { end, bin, processOf }: Opened): World {
  const processes = (processOf.at(-1) ?? -1) + 1;
  return {
    processes, processOf, end, bin,
    advance: async (until) => decode(await line.ask<Float64Array>({ ask: "advance", world, until }), processes),
    metrics: () => line.ask({ ask: "metrics", world }),
    digest: () => line.ask({ ask: "digest", world }),
    close: () => line.close(world),
  };
}

/** The connection to the worker: requests and replies. */
class Line {
  readonly #worker: Worker;
  readonly #open = new Map<number, Settle>();
  #last = 0;
  #outgoing: Request[] = [];

  constructor() {
    try {
      this.#worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    } catch (error) {
      throw new EngineError("unsupported", `this browser cannot start a worker: ${String(error)}`);
    }
    this.#worker.onmessage = ({ data }: MessageEvent<Reply[]>) => data.forEach((reply) => this.#settle(reply));
    // The worker answers every request, so this error means that it could not be loaded.
    this.#worker.onerror = ({ message }) => {
      const error = new EngineError("unsupported", `the engine cannot be loaded: ${message || "its worker does not start"}`);
      this.#open.forEach(({ reject }) => reject(error));
      this.#open.clear();
    };
  }

  ask<T>(request: Unnumbered<Request>): Promise<T> {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#open.set(id, { resolve, reject, world: "world" in request ? request.world : 0 });
      this.#send({ ...request, id } as Request);
    });
  }

  close(world: number): void {
    for (const [id, settle] of this.#open) {
      if (settle.world === world) this.#open.delete(id);
    }
    this.#send({ ask: "close", world });
  }

  end(): void {
    this.#worker.terminate();
  }

  #send(request: Request): void {
    if (this.#outgoing.push(request) > 1) return;
    queueMicrotask(() => {
      this.#worker.postMessage(this.#outgoing);
      this.#outgoing = [];
    });
  }

  #settle(reply: Reply): void {
    const settle = this.#open.get(reply.id);
    this.#open.delete(reply.id);
    if ("error" in reply) settle?.reject(new EngineError(reply.error.code, reply.error.message));
    else settle?.resolve(reply.value as never);
  }
}
