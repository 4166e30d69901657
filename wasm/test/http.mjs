// A small HTTP server whose answers a test scripts, call by call.

import { createServer } from "node:http";

/** Serves `answer(number, request)`: a status, or a status with headers; the first call is number 1. */
export async function serve(test, answer) {
  const seen = [];
  const server = createServer(async (request, response) => {
    const body = [];
    for await (const chunk of request) body.push(chunk);
    seen.push({ method: request.method, body: Buffer.concat(body).toString(), at: performance.now() });
    const { status, headers = {} } = answer(seen.length, request);
    response.writeHead(status, headers).end(`answer ${seen.length}`);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  test.after(() => server.closeAllConnections() ?? server.close());
  return { url: `http://127.0.0.1:${server.address().port}/`, seen };
}
