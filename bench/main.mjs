// Runs every case of every group in a process of its own and prints the rows as a table, or with --json as JSON. Judges nothing.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const GROUPS = [
  "composition",
  "canonical",
  "recorded",
  "append",
  "durable",
  "verify",
  "unsampled",
  "traceloop",
  "langfuse",
  "burst",
  "shutdown",
  "failing",
];
const wanted = process.argv.slice(2).filter((word) => GROUPS.includes(word));
const json = process.argv.includes("--json");

/** What a process that runs `group.mjs` with these words says in its last line. */
function ask(...words) {
  const out = execFileSync(process.execPath, [fileURLToPath(new URL("group.mjs", import.meta.url)), ...words], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(out.slice(out.lastIndexOf("\n[") + 1));
}

const rows = (wanted.length > 0 ? wanted : GROUPS).flatMap((group) => ask(group).flatMap((name) => ask(group, name)));
rows.sort((a, b) => a.row - b.row);

if (json) console.log(JSON.stringify({ node: process.version, rows }, null, 2));
else {
  console.log(
    `Node ${process.version}; ratios of CPU time, medians over rounds of one process; row numbers as in bench/README.md\n`,
  );
  const format = (value) => (value === null ? "" : Number.isInteger(value) ? String(value) : value.toFixed(2));
  const table = rows.map(({ row, variant, subject, baseline, unit, target, measured }) => [
    String(row),
    variant,
    subject,
    baseline,
    format(target),
    format(measured),
    unit,
  ]);
  const head = ["row", "variant", "subject", "÷ baseline", "target", "measured", "unit"];
  const widths = head.map((title, i) => Math.max(title.length, ...table.map((cells) => cells[i].length)));
  for (const cells of [head, widths.map((width) => "-".repeat(width)), ...table]) {
    console.log(
      cells
        .map((cell, i) => cell.padEnd(widths[i]))
        .join("  ")
        .trimEnd(),
    );
  }
}
