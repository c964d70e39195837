// Writes a closed, headed log of as many receipts as are wanted, of lines that the real writer made once.
import { createHash, hash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createDispatcher, uuidv7 } from "@toolspan/core";
import { withAuditLog } from "@toolspan/receipts";

const HEAD_LINES = 256;

/** One receipt's line as the real writer leaves it. */
async function sample(root) {
  const log = withAuditLog({ stateDir: root, policy: "best_effort", hash: "sha256" });
  const dispatch = createDispatcher([log]);
  const turn = {
    iteration: 1,
    sessionId: "bench",
    runId: "run-1",
    turnIndex: 1,
    toolCallIndex: 1,
    model: "m",
    provider: "p",
    agentName: "agent",
  };
  const call = {
    toolName: "get_reservation",
    toolArgs: { id: "4WQ150" },
    callId: "call_1",
    description: "reads a reservation",
    turn,
  };
  await dispatch(call, () => ({ id: "4WQ150", passengers: 2 }));
  await log.close();
  const folder = join(root, "receipts");
  const lines = readFileSync(
    join(
      folder,
      readdirSync(folder).find((name) => name.endsWith(".jsonl")),
    ),
    "utf8",
  ).split("\n");
  rmSync(folder, { recursive: true });
  return lines;
}

const leafOf = (line) => createHash("sha256").update("\0").update(line).digest("hex");

/** Merkle peaks as they grow. */
class Tree {
  size = 0;
  peaks = [];
  input = Buffer.alloc(65, 1);
  node(left, right) {
    this.input.write(left, 1, "hex");
    this.input.write(right, 33, "hex");
    return hash("sha256", this.input, "hex");
  }
  add(leaf) {
    let node = leaf;
    for (let rest = this.size; rest % 2 === 1; rest = (rest - 1) / 2) node = this.node(this.peaks.pop(), node);
    this.peaks.push(node);
    this.size += 1;
  }
  root() {
    return this.peaks.reduceRight((node, peak) => (node === null ? peak : this.node(peak, node)), null);
  }
}

/** Makes `<root>/receipts/bench.jsonl` with its heads; answers with its path. */
export async function writeLog(root, receipts, name = "bench") {
  const [open, line, close] = await sample(root);
  const folder = join(root, "receipts");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.jsonl`);
  const fd = openSync(path, "w", 0o600);
  const log = uuidv7();
  const tree = new Tree();
  const heads = [];
  let prev = null;
  let block = "";
  const put = (template, seq) => {
    const text = template
      .replace(
        /"chain":\{[^}]*\}/,
        `"chain":{"log":"${log}","prev":${prev === null ? "null" : `"${prev}"`},"seq":${seq}}`,
      )
      .replace(/"dispatch_id":"[^"]*"/, () => `"dispatch_id":"${uuidv7()}"`);
    prev = leafOf(text);
    tree.add(prev);
    block += `${text}\n`;
    if (block.length > 1 << 20) {
      writeSync(fd, block);
      block = "";
    }
    if (tree.size % HEAD_LINES === 0) cut();
  };
  const cut = () =>
    heads.push(`toolspan/${log}\n${tree.size}\n${Buffer.from(tree.root(), "hex").toString("base64")}\n\n`);
  put(open, 0);
  for (let seq = 1; seq <= receipts; seq += 1) put(line, seq);
  put(close, receipts + 1);
  if (tree.size % HEAD_LINES !== 0) cut();
  writeSync(fd, block);
  closeSync(fd);
  writeFileSync(join(folder, `${log}.heads`), heads.join(""));
  writeFileSync(join(folder, `${log}.head`), heads.at(-1));
  return path;
}
