// The same in Next's Node runtime: `GET /node?url=URL`.
export { GET } from "../edge/route.js";
