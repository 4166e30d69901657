// Forty calls through a gate in Next's edge runtime: `GET /edge?url=URL`; or one call that reads the headers of its request.
import { headers } from "next/headers";
import { tidegate } from "tidegate";

export const runtime = "edge";

const gate = tidegate();
const slow = tidegate({ requests: { limit: 1, per: 30 } });

export async function GET(request) {
  const url = new URL(request.url).searchParams.get("url");
  if (!url) return new Response(await slow.run(async () => (await headers()).get("x-tenant")));
  const answers = await Promise.all(Array.from({ length: 40 }, () => gate.fetch(url)));
  return Response.json({ served: answers.filter(({ status }) => status === 200).length, admitted: gate.stats().admitted });
}
