/** The command `doctor`: looks at what telemetry and receipts need, and says what is missing and what to do. */

import { stateRoot } from "@toolspan/receipts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { isRegularFile } from "../files/files.ts";
import type { Console } from "../terminal/console.ts";
import type { Paint } from "../terminal/paint.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import { checkApiCopies } from "./api-copies.ts";
import { checkClock } from "./clock.ts";
import { BAD_CREDENTIALS, checkCollector, credentialsOf } from "./collector.ts";
import type { Finding, Patient } from "./finding.ts";
import { checkProvider } from "./provider.ts";
import { checkStateFolder } from "./state-folder.ts";

export interface DoctorOptions {
  readonly endpoint?: string;
  readonly dir?: string;
  /** Seconds. */
  readonly timeout?: number;
  readonly json?: true;
}

const DEFAULT_TIMEOUT_SECONDS = 2;

/**
 * Checks API copies, provider, resource, endpoints, state folder, disk and clock. It sends empty requests and writes one file
 * that it takes away again; the module, if one is named, is run in a process of its own.
 *
 * @param module The module that sets up telemetry.
 * @returns 1 from `warning` up, else 0.
 * @throws CommandError where there is no such module, or the endpoint's user and password cannot be read.
 */
export async function doctor(console: Console, module: string | undefined, options: DoctorOptions): Promise<ExitCode> {
  if (module !== undefined && !(await isRegularFile(module))) throw new CommandError(`${module}: no such file`);
  const { endpoint } = options;
  if (endpoint !== undefined && URL.canParse(endpoint) && credentialsOf(new URL(endpoint)) === null)
    throw new CommandError(`doctor: --endpoint: ${BAD_CREDENTIALS}`);
  const findings = await examine({
    project: process.cwd(),
    stateFolder: stateRoot(options.dir),
    env: process.env,
    module,
    endpoint,
    timeoutMs: (options.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
  });
  if (options.json) console.out.write(`${JSON.stringify({ findings })}\n`);
  else for (const finding of findings) console.out.write(`${lineOf(finding, console.out.paint)}\n`);
  return findings.some(({ status }) => status === "warning" || status === "problem") ? EXIT.failed : EXIT.ok;
}

async function examine(patient: Patient): Promise<readonly Finding[]> {
  const [copies, provider, reached, folder] = await Promise.all([
    checkApiCopies(patient),
    checkProvider(patient),
    checkCollector(patient),
    checkStateFolder(patient),
  ]);
  return [...copies, ...provider, ...reached.findings, ...folder, await checkClock(patient, reached.clock)];
}

function lineOf({ check, status, message }: Finding, paint: Paint): string {
  const shade = { ok: paint.good, unknown: paint.faint, warning: paint.warn, problem: paint.bad }[status];
  return `${shade(status.padEnd(7))} ${terminalText(`${check}: ${message}`)}`;
}
