/** Wire record `heartbeat`: says that a log was idle and alive, so that silence can be told from a cut. */

import { type Envelope, envelope } from "./envelope.ts";
import type { Fields } from "./field.ts";

export interface Heartbeat extends Envelope {
  readonly record: "heartbeat";
}

export const heartbeatFields: Fields<Heartbeat> = envelope("heartbeat");
