// Makes many dispatches and prints the heap after the first tenth and at the end, in bytes, after collection.
import { createDispatcher, defineLayer } from "@toolspan/core";
import { withTelemetry } from "@toolspan/telemetry";

const say = (fact) => process.stdout.write(`${JSON.stringify(fact)}\n`);

const [dir, count] = process.argv.slice(2);
const layer = defineLayer({ name: "with_a", call: (call, next) => next(call) });
const dispatch = createDispatcher([withTelemetry({ sinks: ["jsonl", () => {}], dir, env: {} }), layer]);
const heap = () => {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};
let early = 0;
for (let i = 0; i < Number(count); i += 1) {
  await dispatch({ toolName: "t", toolArgs: { i }, callId: `call_${i}` }, () => ({ i }));
  if (i === Number(count) / 10) early = heap();
}
await dispatch.flush();
say({ early, late: heap(), rss: process.resourceUsage().maxRSS * 1024 });
