// Tabs of real browsers.

import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import { build } from "esbuild";
import puppeteer from "puppeteer-core";
import { launch as webkit } from "./webkit.mjs";

// With these options of test tools, hidden tabs would be as active as the visible one.
const AWAKE = ["--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding"];

// On a machine that is busy, a browser starts slowly.
const timeout = 300_000;

/** How each browser starts. */
export const launched = {
  Chromium: (options) => puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"], timeout, ...options }),
  Firefox: () => puppeteer.launch({ browser: "firefox", executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr", timeout }),
  WebKit: webkit,
};

/** One tab. Its page calls `tell` to emit `message`. A tab that closes emits `exit`. */
class Tab extends EventEmitter {
  #send;
  #target;
  #count = 0;
  #waiting = new Map();

  constructor(send, target) {
    super();
    this.#send = send;
    this.#target = target;
  }

  take({ id, method, params, result, error }) {
    if (method === "Runtime.bindingCalled") this.emit("message", JSON.parse(params.payload));
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.fail(new Error(error.message));
    else waiting?.done(result);
  }

  /** Runs a command of the DevTools protocol on this tab. */
  command(method, params = {}) {
    const id = ++this.#count;
    const result = new Promise((done, fail) => this.#waiting.set(id, { done, fail }));
    this.#send("Target.sendMessageToTarget", { sessionId: this.session, message: JSON.stringify({ id, method, params }) }).catch((error) => this.take({ id, error }));
    return result;
  }

  async run(expression) {
    const { result, exceptionDetails } = await this.command("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Freezes the tab, as a browser does with one that has been hidden for a while, or resumes it. */
  freeze(isFrozen) {
    return this.command("Page.setWebLifecycleState", { state: isFrozen ? "frozen" : "active" });
  }

  show() {
    return this.#send("Target.activateTarget", { targetId: this.#target });
  }

  reload() {
    return this.command("Page.reload");
  }

  async close() {
    await this.#send("Target.closeTarget", { targetId: this.#target });
  }
}

/** One of each kind is enough, because each site has its own origin. */
const running = {};

export async function closeBrowsers() {
  for (const [name, browser] of Object.entries(running)) {
    delete running[name];
    await (await browser).close();
  }
}

/** A site in a browser. The only content of its pages is a script. */
class Site {
  #server;
  pages = [];

  async start(contents) {
    const bundled = await build({ stdin: { contents, resolveDir: import.meta.dirname }, bundle: true, format: "esm", target: "es2022", write: false });
    const types = { "/": "text/html", "/page.js": "text/javascript" };
    const files = { "/": '<!doctype html><title>tab</title><script>globalThis.tell ??= () => {}</script><script type="module" src="/page.js"></script>', "/page.js": bundled.outputFiles[0].text };
    this.#server = createServer(({ url }, response) => {
      response.writeHead(files[url] ? 200 : 404, { "content-type": types[url] ?? "text/plain" }).end(files[url]);
    });
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { name } = this.constructor;
    this.browser = await (running[name] ??= launched[name]({ ignoreDefaultArgs: AWAKE }));
  }

  /** The address of a page. `told` is behind its `#`. */
  url(told = "") {
    return `http://127.0.0.1:${this.#server.address().port}/#${encodeURIComponent(told)}`;
  }

  async newPage() {
    const page = await this.browser.newPage();
    this.pages.push(page);
    return page;
  }

  async close() {
    for (const page of this.pages) await page.close().catch(() => {});
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Firefox. All of its tabs are visible. */
export class Firefox extends Site {
  async open(told) {
    const page = await this.newPage();
    const tab = Object.assign(new EventEmitter(), {
      run: (expression) => page.evaluate(expression),
      reload: () => page.reload(),
      close: () => page.close(),
    });
    await page.exposeFunction("tell", (what) => void tab.emit("message", what));
    void page.goto(this.url(told));
    return tab;
  }
}

/** WebKit. WebDriver does one thing at a time, so no tab may be busy. */
export class WebKit extends Site {
  async open(told) {
    const page = await this.newPage();
    const tab = Object.assign(new EventEmitter(), {
      run: (expression) => page.evaluate(`() => ${expression}`),
      reload: async () => loads(page.reload()),
      close: page.close,
    });
    const loads = (loading) => void loading.then(() => tab.emit("message"));
    loads(page.goto(this.url(told)));
    return tab;
  }
}

/** Chromium, with its tabs in one window, so that all but one are hidden, and the browser can freeze them. */
export class Chromium extends Site {
  #tabs = new Map();
  #root;
  #context;

  async start(contents) {
    await super.start(contents);
    this.#root = await this.browser.target().createCDPSession();
    this.#root.on("Target.receivedMessageFromTarget", ({ sessionId, message }) => this.#tabs.get(sessionId)?.take(JSON.parse(message)));
    this.#root.on("Target.detachedFromTarget", ({ sessionId }) => {
      this.#tabs.get(sessionId)?.emit("exit", 0);
      this.#tabs.delete(sessionId);
    });
    this.#context = (await this.#root.send("Target.createBrowserContext")).browserContextId;
  }

  async close() {
    await this.#root?.send("Target.disposeBrowserContext", { browserContextId: this.#context });
    await super.close();
  }

  /** Opens a tab in front of the others. */
  async open(told) {
    const { targetId } = await this.#root.send("Target.createTarget", { url: "about:blank", browserContextId: this.#context });
    const tab = new Tab((method, params) => this.#root.send(method, params), targetId);
    tab.session = (await this.#root.send("Target.attachToTarget", { targetId, flatten: false })).sessionId;
    this.#tabs.set(tab.session, tab);
    for (const domain of ["Runtime", "Page"]) await tab.command(`${domain}.enable`);
    await tab.command("Runtime.addBinding", { name: "tell_" });
    await tab.command("Page.addScriptToEvaluateOnNewDocument", { source: "globalThis.tell = (what) => tell_(JSON.stringify(what))" });
    await tab.command("Page.navigate", { url: this.url(told) });
    return tab;
  }
}
