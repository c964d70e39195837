// Rows 17 and 18: what verifying costs beside sha256sum, how much memory it takes for a million receipts, and what a second thread brings.
import { spawnSync } from "node:child_process";
import { closeSync, fstatSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifyLog } from "@toolspan/receipts";
import { median } from "./measure.mjs";
import { writeLog } from "./verify-log.mjs";

const ROUNDS = 9;
const SMALL = 40_000;
const LARGE = Number(process.env.BENCH_RECEIPTS ?? 1_000_000);

const inFolder = async (work) => {
  const root = mkdtempSync(join(tmpdir(), "toolspan-bench-"));
  try {
    return await work(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
};

async function cpuSeconds(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** CPU seconds of sha256sum over a file, as the shell counts its children. */
function sha256sum(path) {
  const { stdout } = spawnSync("bash", ["-c", 'sha256sum "$1" > /dev/null; times', "bash", path], { encoding: "utf8" });
  const [, children = ""] = stdout.trim().split("\n");
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + Number(m) * 60 + Number(s), 0);
}

/** Hash and link of each line, nothing else: what the verifier's reader alone can do. */
async function chainCheck(path) {
  const dist = new URL("./verify/lines/line-buffer.js", import.meta.resolve("@toolspan/receipts"));
  const { LineBuffer } = await import(dist.href);
  const needle = Buffer.from('"prev":"');
  return () => {
    const fd = openSync(path, "r");
    const { size } = fstatSync(fd);
    const lines = new LineBuffer(1 << 20, 65_536);
    let last = null;
    let broken = 0;
    for (let position = 0, read = 1; read > 0 && position < size; position += read) {
      read = lines.fill(fd, position);
      for (let line = lines.next(); line !== null; line = lines.next()) {
        const at = line.bytes.indexOf(needle) + needle.length;
        if (last !== null && line.bytes.latin1Slice(at, at + 64) !== last) broken += 1;
        last = line.leaf();
      }
    }
    closeSync(fd);
    if (broken > 0) throw new Error(`${broken} links do not hold`);
  };
}

/** Row 17: throughput, so the baseline's time over the subject's. */
const throughput = () =>
  inFolder(async (root) => {
    const path = await writeLog(root, SMALL);
    const chain = await chainCheck(path);
    const full = async () => {
      const { exitCode } = await verifyLog(path, { workers: 1 });
      if (exitCode !== 0) throw new Error(`exit ${exitCode}`);
    };
    const rounds = [];
    for (let round = -2; round < ROUNDS; round += 1) {
      const sum = sha256sum(path);
      const found = { chain: sum / (await cpuSeconds(chain)), full: sum / (await cpuSeconds(full)) };
      if (round >= 0) rounds.push(found);
    }
    const row = (subject, variant, target) => ({
      row: 17,
      variant: `${SMALL} receipts`,
      subject,
      baseline: "sha256sum, MB/s",
      unit: "ratio",
      target,
      measured: median(rounds.map((each) => each[variant])),
    });
    return [row("hash and link", "chain", 1.25), row("verifyLog, 1 worker", "full", 0.25)];
  });

/** One verification in a process of its own: wall seconds, CPU seconds, peak memory. */
function verifyAlone(path, workers) {
  const program = `
    import { verifyLog } from "@toolspan/receipts";
    const start = performance.now();
    const { exitCode } = await verifyLog(${JSON.stringify(path)}, { workers: ${workers} });
    const wall = (performance.now() - start) / 1e3;
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    console.log(JSON.stringify({ exitCode, wall, cpu: (userCPUTime + systemCPUTime) / 1e6, mb: maxRSS / 1024 }));`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
    cwd: new URL(".", import.meta.url),
  });
  const found = JSON.parse(stdout);
  if (found.exitCode !== 0) throw new Error(`exit ${found.exitCode}`);
  return found;
}

/** Row 18. The speed-up needs two cores that nobody else uses. */
const million = () =>
  inFolder(async (root) => {
    const path = await writeLog(root, LARGE);
    const rounds = [];
    for (let round = 0; round < 3; round += 1) rounds.push([verifyAlone(path, 1), verifyAlone(path, 2)]);
    const row = (subject, baseline, unit, target, of) => ({
      row: 18,
      variant: `${LARGE} receipts`,
      subject,
      baseline,
      unit,
      target,
      measured: median(rounds.map(of)),
    });
    return [
      row("verifyLog, 1 worker", "peak memory", "MB", 100, ([one]) => Math.round(one.mb)),
      row("verifyLog, 2 workers", "peak memory", "MB", 100, ([, two]) => Math.round(two.mb)),
      row("verifyLog, 2 workers", "1 worker, wall speed", "ratio", 1.5, ([one, two]) => one.wall / two.wall),
      row("verifyLog, 2 workers", "1 worker, CPU", "ratio", null, ([one, two]) => two.cpu / one.cpu),
    ];
  });

export const cases = { throughput, million };
