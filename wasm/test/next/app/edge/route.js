// Forty calls through a gate in Next's edge runtime: `GET /edge?url=URL`.
import { tidegate } from "tidegate";

export const runtime = "edge";

const gate = tidegate();

export async function GET(request) {
  const url = new URL(request.url).searchParams.get("url");
  const answers = await Promise.all(Array.from({ length: 40 }, () => gate.fetch(url)));
  return Response.json({ served: answers.filter(({ status }) => status === 200).length, admitted: gate.stats().admitted });
}
