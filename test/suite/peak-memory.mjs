// Preloaded into the command: writes the process's peak resident memory, in MB, to the file that PEAK_MEMORY_FILE names.
import { writeFileSync } from "node:fs";

process.on("exit", () => {
  writeFileSync(process.env.PEAK_MEMORY_FILE ?? "", String(process.resourceUsage().maxRSS / 1024));
});
