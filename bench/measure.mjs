// Measures subjects side by side in one process: alternating, rotated order, CPU time of the whole process per operation.

const ROUNDS = 9;
const SAMPLE_MS = 150;
/** Rounds before those that count: until then the engine goes on compiling, longer the more code a subject has. */
const WARM_ROUNDS = 16;
/** CPU time, not wall time: on a busy machine a subject would otherwise be measured before it is compiled. */
const WARM_CPU_MS = 800;

const cpuNs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
};

/** Middle value of a list of numbers. */
export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** CPU nanoseconds per operation of one sample of `n` operations, work put off until later included. */
async function sample({ run, drain }, n) {
  const before = cpuNs();
  await run(n);
  if (drain !== undefined) await drain();
  return Math.max(1, (cpuNs() - before) / n);
}

async function warmUp(subject, sampleMs) {
  let n = 4;
  let samples = 0;
  let last = 1;
  for (const until = cpuNs() + WARM_CPU_MS * 1e6; cpuNs() < until || samples < 6; samples += 1) {
    last = await sample(subject, n);
    n = Math.max(1, Math.min(subject.maxOps ?? Number.POSITIVE_INFINITY, n * 8, Math.round((sampleMs * 1e6) / last)));
  }
  return n;
}

/**
 * Runs every subject once a round and answers with each one's samples, round by round.
 *
 * No forced garbage collection: it shrinks the young generation and doubles the cost of span-heavy code.
 *
 * @param subjects `{ name, run(n), drain?(), maxOps? }`: `run` does `n` operations, `drain` what they put off.
 */
export async function measure(subjects, { rounds = ROUNDS, sampleMs = SAMPLE_MS } = {}) {
  const operations = [];
  for (const subject of subjects) operations.push(await warmUp(subject, sampleMs));
  const samples = subjects.map(() => []);
  for (let round = 0; round < WARM_ROUNDS + rounds; round += 1) {
    const order = subjects.map((_, i) => (i + round) % subjects.length);
    if (round % 2 === 1) order.reverse();
    for (const i of order) samples[i].push(await sample(subjects[i], operations[i]));
  }
  return new Map(subjects.map(({ name }, i) => [name, samples[i].slice(WARM_ROUNDS)]));
}

/** Median over the rounds of one subject's cost divided by another's in the same round. */
export const ratio = (samples, subject, baseline) =>
  median(samples.get(subject).map((ns, round) => ns / samples.get(baseline)[round]));
