/** A verification's report as the command prints it for machines: snake_case. */

import type { VerifyReport } from "@toolspan/receipts";

export function toReportJson(report: VerifyReport): object {
  const { exitCode, notChecked, leftOff, ...same } = report;
  return { ...same, exit_code: exitCode, not_checked: notChecked, left_off: leftOff };
}
