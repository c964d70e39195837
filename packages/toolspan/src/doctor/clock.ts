/** Check `clock`: whether this host's time fits what others say and what is written. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { jsonlFiles } from "../files/files.ts";
import type { Reached } from "./collector.ts";
import type { Finding, Patient } from "./finding.ts";

const CHECK = "clock";
/** `Date` headers are cut to the second, and the way there takes its time. */
const TOLERANCE_MS = 5000;

export async function checkClock({ stateFolder }: Patient, clock: Reached["clock"]): Promise<Finding> {
  const newest = await newestWrite(stateFolder);
  if (newest !== undefined && newest.at - Date.now() > TOLERANCE_MS) {
    const ahead = Math.round((newest.at - Date.now()) / 1000);
    return {
      check: CHECK,
      status: "warning",
      message: `${newest.path} was written ${ahead} s from now: this clock was ahead then, or is behind now; receipts carry its times`,
    };
  }
  if (clock === undefined)
    return { check: CHECK, status: "unknown", message: "no other clock to compare this one with" };
  const off = Math.round((clock.here - clock.there) / 1000);
  if (Math.abs(clock.here - clock.there) <= TOLERANCE_MS)
    return { check: CHECK, status: "ok", message: "agrees with the collector's" };
  const way = off > 0 ? "ahead of" : "behind";
  return {
    check: CHECK,
    status: "warning",
    message: `${Math.abs(off)} s ${way} the collector's; keep it with NTP: receipts and spans carry its times`,
  };
}

async function newestWrite(folder: string): Promise<{ readonly path: string; readonly at: number } | undefined> {
  const files = [...(await jsonlFiles(join(folder, "spans"))), ...(await jsonlFiles(join(folder, "receipts")))];
  const written = await Promise.all(files.map(async (path) => ({ path, at: (await stat(path)).mtimeMs })));
  return written.reduce<(typeof written)[number] | undefined>(
    (newest, each) => (newest === undefined || each.at > newest.at ? each : newest),
    undefined,
  );
}
