/** An observer and a recorder that keep what they are told, to hold a run against what it says of itself. */

import {
  type Digest,
  type DispatchOutcome,
  type Hasher,
  type LateSettlement,
  type ModelInfo,
  type OperationReport,
  observerCaller,
  type RecorderReply,
  type RunInfo,
  recorderCaller,
  type ToolCaller,
} from "@toolspan/core";

/** One operation that the observer saw, in order of its end. */
export interface SeenOperation {
  readonly kind: "run" | "model" | "dispatch";
  readonly info: RunInfo | ModelInfo | { readonly toolName: string };
  readonly report: OperationReport;
  readonly thrown?: unknown;
}

export interface Watching {
  /** To be listed among the layers. */
  readonly layers: readonly ToolCaller[];
  /** One per receipt, in order. */
  readonly outcomes: readonly DispatchOutcome[];
  readonly operations: readonly SeenOperation[];
  seen(kind: SeenOperation["kind"]): readonly SeenOperation[];
}

const noSpan = {
  within: <A>(fn: (arg: A) => void, arg: A): void => fn(arg),
  event() {},
  end() {},
};

const digest: Digest = { hash: "sha256:none", redacted: [] };

/** A hasher for tests that look at no hash. */
export const noHasher: Hasher = {
  mode: "sha256",
  redact: [],
  value: () => digest,
  text: () => digest,
  sequence: () => ({ push() {}, end: () => digest }),
  plain: () => null,
};

/**
 * @param write What becomes of each receipt. Default: written at once.
 * @param late Hears of late settlements.
 */
export function watching(
  write: (outcome: DispatchOutcome) => RecorderReply | Promise<RecorderReply> = written,
  late: (settlement: LateSettlement) => void = () => {},
): Watching {
  const outcomes: DispatchOutcome[] = [];
  const operations: SeenOperation[] = [];
  const watch = async <T>(
    kind: "run" | "model",
    info: RunInfo | ModelInfo,
    fn: (report: (report: OperationReport) => void) => Promise<T>,
  ): Promise<T> => {
    let report: OperationReport = {};
    try {
      const value = await fn((more) => {
        report = { ...report, ...more };
      });
      operations.push({ kind, info, report });
      return value;
    } catch (thrown) {
      operations.push({ kind, info, report, thrown });
      throw thrown;
    }
  };
  const observer = observerCaller({
    name: "with_watching",
    dispatch: ({ call: { toolName } }) => ({
      ...noSpan,
      trace: null,
      recording: true,
      layer: () => noSpan,
      leaf: () => noSpan,
      recorder: () => noSpan,
      end: ({ finalErrorType }) => {
        const report = finalErrorType === undefined ? {} : { errorType: finalErrorType };
        operations.push({ kind: "dispatch", info: { toolName }, report });
      },
      late,
    }),
    run: (info, fn) => watch("run", info, fn),
    model: (info, fn) => watch("model", info, fn),
    async flush() {},
    async close() {},
  });
  const recorder = recorderCaller({
    name: "with_record",
    defaultHasher: noHasher,
    record: (outcome) => {
      outcomes.push(outcome);
      return write(outcome);
    },
    async flush() {},
    async close() {},
  });
  return {
    layers: [recorder, observer],
    outcomes,
    operations,
    seen: (kind) => operations.filter((operation) => operation.kind === kind),
  };
}

function written(): RecorderReply {
  return { receipt: { level: "written" } };
}
