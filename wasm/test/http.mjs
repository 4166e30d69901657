// A small HTTP server. A test scripts its response to each call.

import { createServer } from "node:http";

/**
 * Serves `answer(number, request)`: a status, or a status with headers and a body. The first call is number 1. A
 * body that `streams` ends when the caller disconnects, and `gone` is the time of that.
 */
export async function serve(test, answer) {
  const seen = [];
  const server = createServer(async (request, response) => {
    const body = [];
    for await (const chunk of request) body.push(chunk);
    const call = { method: request.method, body: Buffer.concat(body).toString(), at: performance.now() };
    seen.push(call);
    const { status, headers = {}, text = `answer ${seen.length}`, streams } = answer(seen.length, request);
    response.writeHead(status, headers);
    if (!streams) return response.end(text);
    response.on("close", () => (call.gone = performance.now()));
    response.write(text);
    call.end = () => response.end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  test.after(() => server.closeAllConnections() ?? server.close());
  return { url: `http://127.0.0.1:${server.address().port}/`, seen };
}
