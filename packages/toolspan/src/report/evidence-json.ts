/** `report --format json`: one object on one line. */

import { toReportJson } from "../files/report-json.ts";
import { inertJson } from "../terminal/inert-json.ts";
import type { EvidenceWriter } from "./evidence-writer.ts";

export function jsonEvidence(write: (text: string) => void): EvidenceWriter {
  let before = "";
  return {
    begin: (report) => write(`{"verification":${inertJson(toReportJson(report))},"actions":[`),
    entry(entry) {
      write(before + inertJson(entry));
      before = ",";
    },
    end({ refusals, more_refusals, gaps, more_gaps, totals }) {
      const ids = refusals.map(({ dispatch_id }) => dispatch_id);
      const rest = inertJson({ refusals: ids, more_refusals, gaps, more_gaps, totals });
      write(`],${rest.slice(1)}\n`);
    },
  };
}
