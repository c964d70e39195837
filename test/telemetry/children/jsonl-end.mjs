// Makes one call whose spans go to a file, then ends in the way that it is told.
import { createDispatcher } from "@toolspan/core";
import { withTelemetry } from "@toolspan/telemetry";

const [dir, end] = process.argv.slice(2);
const dispatch = createDispatcher([withTelemetry({ sink: "jsonl", dir, env: {} })]);
await dispatch({ toolName: "t" }, () => 1);
if (end === "exit") process.exit(3);
if (end === "throw") {
  setTimeout(() => {
    throw new Error("crash");
  }, 1);
}
