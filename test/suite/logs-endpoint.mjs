// An OTLP endpoint for logs in a process of its own: `node logs-endpoint.mjs <port> <file> [busy] [mute]`.
// It adds each record's body to the file before it answers, says how many it has, and answers the first `busy` requests with 503, and request number `mute` not at all.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, file, busy = "0", mute = "0"] = process.argv.slice(2);
let requests = 0;
let records = 0;

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  if (requests++ < Number(busy)) {
    response.writeHead(503, { "retry-after": "0" }).end();
    process.stdout.write("busy\n");
    return;
  }
  const { resourceLogs } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  const found = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs).flatMap(({ logRecords }) => logRecords);
  appendFileSync(
    file,
    found.map(({ eventName, body }) => `${JSON.stringify([eventName, body.stringValue])}\n`).join(""),
  );
  records += found.length;
  if (requests !== Number(mute)) response.writeHead(200, { "content-type": "application/json" }).end("{}");
  process.stdout.write(`${records}\n`);
});
server.listen(Number(port), "127.0.0.1", () => process.stdout.write(`port ${server.address().port}\n`));
