// One example of each record that a short run does not write, so that their wire form is fixed all the same.
import type { Chain, Erasure, Heartbeat, KeyRotation, Prune } from "@toolspan/receipts";

const chain: Chain = { log: "01900000-0000-7000-8000-00000000000f", seq: 3, prev: "0f".repeat(32) };
const common = { schema_version: 1, emitted_at: "2027-01-15T08:00:00.000000000Z", chain } as const;

export const heartbeat: Heartbeat = {
  record: "heartbeat",
  ...common,
  reason: "clock",
  wall_ms: -86_400_000,
  monotonic_ms: 1200,
};

export const keyRotation: KeyRotation = {
  record: "key_rotation",
  ...common,
  old_key: "host/toolspan+0a1b2c3d+AQID",
  new_key: "host/toolspan+4e5f6a7b+BAUG",
};

export const erasure: Erasure = {
  record: "erasure",
  ...common,
  dispatch_id: "01900000-0000-7000-8000-000000000001",
  key_id: null,
  openings: 2,
  reason: "request of the subject",
};

export const prune: Prune = {
  record: "prune",
  ...common,
  file: "session.jsonl",
  log: "01900000-0000-7000-8000-00000000000e",
  lines: 12,
  root: "ab".repeat(32),
};
