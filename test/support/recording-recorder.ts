// A recorder that keeps outcomes in memory and fails, waits or answers as told.
import { plainHasher } from "@toolspan/canonical/hash";
import {
  type DispatchOutcome,
  type Hasher,
  type Intent,
  type LateSettlement,
  type RecorderCaller,
  type RecorderReply,
  recorderCaller,
} from "@toolspan/core";

export interface RecordingRecorder {
  readonly caller: RecorderCaller;
  readonly outcomes: DispatchOutcome[];
  readonly intents: Intent[];
  readonly late: LateSettlement[];
  readonly log: string[];
  /** The only outcome so far. */
  only(): DispatchOutcome;
  flushes: number;
  closes: number;
}

export interface RecordingRecorderOptions {
  readonly name?: string;
  readonly log?: string[];
  readonly hasher?: Hasher;
  /** What `record` answers with; may throw or reject. Default: a durable receipt with a uri, at once. */
  readonly reply?: (outcome: DispatchOutcome) => RecorderReply | Promise<RecorderReply>;
  /** Given: an intent is asked for before each attempt; may throw. */
  readonly intent?: (intent: Intent) => Promise<void>;
}

export function recordingRecorder(options: RecordingRecorderOptions = {}): RecordingRecorder {
  const { name = "with_audit_log", log = [], hasher, reply = durable, intent } = options;
  const outcomes: DispatchOutcome[] = [];
  const intents: Intent[] = [];
  const late: LateSettlement[] = [];
  const recorder: RecordingRecorder = {
    caller: recorderCaller({
      name,
      ...(hasher === undefined ? {} : { hasher }),
      defaultHasher: plainHasher(),
      ...(intent === undefined
        ? {}
        : {
            async intent(said: Intent) {
              intents.push(said);
              await intent(said);
            },
          }),
      record(outcome) {
        outcomes.push(outcome);
        log.push(name);
        return reply(outcome);
      },
      late(settlement) {
        late.push(settlement);
        log.push(`${name}.late`);
      },
      async flush() {
        recorder.flushes += 1;
      },
      async close() {
        recorder.closes += 1;
      },
    }),
    outcomes,
    intents,
    late,
    log,
    only() {
      const [only] = outcomes;
      if (only === undefined || outcomes.length > 1) throw new Error(`${outcomes.length} outcomes were recorded`);
      return only;
    },
    flushes: 0,
    closes: 0,
  };
  return recorder;
}

export function durable(outcome: DispatchOutcome): RecorderReply {
  return { receipt: { level: "durable", uri: `memory://receipts#${outcome.dispatch.id}` } };
}
