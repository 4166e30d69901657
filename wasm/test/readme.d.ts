// Declarations that the README's snippets assume, and the modules that they import but that are not
// installed here.

declare const gate: import("tidegate").Gate;
declare const tidegate: typeof import("tidegate").tidegate;
declare const query: string;
declare function work(signal?: unknown): Promise<number>;

declare module "@opentelemetry/api" {
  export const metrics: { getMeter(name: string): import("tidegate/otel").Meter };
}
declare module "octokit" {
  export class Octokit {
    constructor(options: { request: { fetch: typeof globalThis.fetch } });
  }
}
declare module "openai" {
  interface Completion {
    usage?: { total_tokens: number };
  }
  export default class OpenAI {
    constructor(options: { maxRetries: number; timeout?: number; fetch?: typeof globalThis.fetch });
    chat: { completions: { create(body: { model: string; messages: { role: "user"; content: string }[] }, options: { signal: AbortSignal }): Promise<Completion> } };
  }
}
declare module "@anthropic-ai/sdk" {
  export default class Anthropic {
    constructor(options: { maxRetries: number; timeout: number; fetch: typeof globalThis.fetch });
  }
}
declare module "@aws-sdk/client-s3" {
  export class GetObjectCommand {
    constructor(input: { Bucket: string; Key: string });
  }
  export class S3Client {
    constructor(options: { maxAttempts: number });
    send(command: GetObjectCommand): Promise<{ ContentLength?: number }>;
  }
}
declare module "cloudflare:workers" {
  export const env: { TIDEGATE: import("tidegate/durable").Namespace };
  export abstract class DurableObject<Env = unknown> {
    constructor(ctx: unknown, env: Env);
    protected readonly ctx: unknown;
    protected readonly env: Env;
    alarm?(): void | Promise<void>;
  }
}
