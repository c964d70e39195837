/** How the command `doctor` is described. */

import type { Command } from "commander";
import { type End, examples, JSON_OPTION, seconds } from "../command-words.ts";
import type { Console } from "../terminal/console.ts";
import type { DoctorOptions } from "./doctor.ts";

export function addDoctor(program: Command, console: Console, end: End): void {
  program
    .command("doctor")
    .description("look at what telemetry and receipts need: API copies, provider, collector, folder, disk, clock")
    .argument("[module]", "a module that sets up telemetry; it is run in a process of its own to be asked")
    .option("--endpoint <url>", "OTLP/HTTP address to try (default: OTEL_EXPORTER_OTLP_ENDPOINT)")
    .option("--dir <dir>", "state folder (default: TOOLSPAN_STATE_DIR, else .toolspan of this project)")
    .option("--timeout <seconds>", "longest wait for an endpoint (default: 2)", seconds)
    .option("--json", JSON_OPTION)
    .addHelpText(
      "after",
      examples("toolspan doctor", "toolspan doctor dist/telemetry.js --endpoint http://collector:4318 --json"),
    )
    .action(async (module: string | undefined, options: DoctorOptions) => {
      const { doctor } = await import("./doctor.ts");
      end(await doctor(console, module, options));
    });
}
