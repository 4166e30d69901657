// WebKitGTK, through WebDriver and on a virtual display.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts the browser. It has those functions of puppeteer's that the tests need. */
export async function launch() {
  const screen = spawn("Xvfb", ["-displayfd", "3", "-nolisten", "tcp"], { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const [number] = await once(screen.stdio[3], "data");
  const port = await freePort();
  const driver = spawn("WebKitWebDriver", ["--host=127.0.0.1", `--port=${port}`], { env: { ...process.env, DISPLAY: `:${String(number).trim()}` }, stdio: "ignore" });
  const ask = async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/session${path}`, { method, body: body && JSON.stringify(body) });
    const { value } = await answer.json();
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  // The driver listens a moment later.
  const start = async () => {
    await new Promise((wake) => setTimeout(wake, 100));
    return ask("POST", "", { capabilities: {} }).catch((error) => (error.cause?.code === "ECONNREFUSED" && driver.exitCode === null ? start() : Promise.reject(error)));
  };
  const { sessionId } = await start();
  const command = (path, body) => ask("POST", `/${sessionId}/${path}`, body);
  await command("timeouts", { script: 300_000 });
  // WebDriver's commands are for the window that was switched to.
  let last = Promise.resolve();
  const newPage = async () => {
    const { handle } = await command("window/new", { type: "tab" });
    const inTab = (act) => {
      const done = last.catch(() => {}).then(() => command("window", { handle })).then(act);
      last = done;
      return done;
    };
    return {
      goto: (url) => inTab(() => command("url", { url })),
      reload: () => inTab(() => command("refresh", {})),
      title: () => inTab(() => ask("GET", `/${sessionId}/title`)),
      addScriptTag: ({ content }) => inTab(() => command("execute/sync", { script: 'document.head.append(Object.assign(document.createElement("script"), { textContent: arguments[0] }))', args: [content] })),
      async evaluate(work, arg) {
        const [error, value] = await inTab(() => command("execute/async", { script: `Promise.resolve(arguments[0]).then(${work}).then((value) => arguments[1]([null, value]), (error) => arguments[1]([String(error)]))`, args: [arg] }));
        if (error) throw new Error(error);
        return value;
      },
      // A new tab needs a window that exists.
      close: () => inTab(async () => command("window", { handle: (await ask("DELETE", `/${sessionId}/window`))[0] })),
    };
  };
  return {
    newPage,
    async close() {
      await ask("DELETE", `/${sessionId}`);
      driver.kill();
      screen.kill();
    },
  };
}
