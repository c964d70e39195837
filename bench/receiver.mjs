// A program of its own that takes whatever is posted and counts OTLP spans; with `hang` it never answers. Its CPU time is nobody's.
import { createServer } from "node:http";
import { gunzipSync } from "node:zlib";

const hangs = process.argv[2] === "hang";
let spans = 0;

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    if (request.method === "GET" && request.url === "/count") {
      response.writeHead(200, { connection: "close" });
      return response.end(JSON.stringify({ spans }));
    }
    if (hangs) return undefined;
    const sent = Buffer.concat(parts);
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
    if (request.url.endsWith("/v1/traces")) spans += body.toString("latin1").split('"spanId":').length - 1;
    response.writeHead(200, { "content-type": "application/json" });
    return response.end("{}");
  });
});

server.keepAliveTimeout = 120_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit(0));
