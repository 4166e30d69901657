// However many isolates run this worker, and wherever: together they call the API fifty times a second.

import { env } from "cloudflare:workers";
import { DeadlineExceeded, QueueFull, tidegate, TidegateObject, type SharedPolicy } from "tidegate/durable";

/** Holds the budget: one object for each origin that is called. */
export class Budget extends TidegateObject<Env> {
  override policy(): SharedPolicy {
    return { law: "fixed", requests: { limit: 50, per: 1_000 } };
  }
}

const gate = tidegate({ shared: env.TIDEGATE });

export default {
  async fetch(request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/stats") {
      return Response.json({ here: gate.stats(), budget: await env.TIDEGATE.getByName(new URL(env.API).origin).stats() });
    }
    try {
      return await gate.fetch(env.API, {}, { deadline: 20_000 });
    } catch (error) {
      // The budget is spoken for until the deadline: the client should try again later.
      if (error instanceof DeadlineExceeded || error instanceof QueueFull) return new Response(error.message, { status: 503 });
      throw error;
    }
  },
} satisfies ExportedHandler<Env>;
