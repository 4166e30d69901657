// Declarations that the README's snippets assume, and the modules that they import but that are not
// installed here.

declare const gate: import("tidegate").Gate;
declare function work(signal?: unknown): Promise<number>;

declare module "openai" {
  interface Completion {
    usage?: { total_tokens: number };
  }
  export default class OpenAI {
    constructor(options: { maxRetries: number });
    chat: { completions: { create(body: { model: string; messages: { role: "user"; content: string }[] }, options: { signal: AbortSignal }): Promise<Completion> } };
  }
}
