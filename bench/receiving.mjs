// Starts the receiver beside a case, and ends it.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** @param mode "hang" for one that never answers. */
export async function startReceiver(mode = "take") {
  const child = fork(fileURLToPath(new URL("receiver.mjs", import.meta.url)), [mode], { stdio: "inherit" });
  const { port } = await new Promise((resolve) => child.once("message", resolve));
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    endpoint,
    /** OTLP spans that arrived so far. */
    spans: async () => (await (await fetch(`${endpoint}/count`)).json()).spans,
    stop: () => child.disconnect(),
  };
}
