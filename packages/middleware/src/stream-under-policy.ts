/** A stream whose pulls run under a policy: what its tool does between two items belongs to the call as well. */

import { type PolicyCheck, type ToolResult, underPolicyCheck } from "@toolspan/core";

type Stream = AsyncIterator<unknown, unknown, unknown>;

/** The result, its stream bound where it has one that still runs. */
export function bindStream(result: ToolResult, check: PolicyCheck): ToolResult {
  const { settled, result: value } = result;
  if (settled === undefined || typeof (value as Partial<Stream> | null)?.next !== "function") return result;
  return { ...result, result: underPolicy(value as Stream, check) };
}

function underPolicy(stream: Stream, check: PolicyCheck): AsyncIterableIterator<unknown, unknown, unknown> {
  return {
    next: (...args) => underPolicyCheck(check, () => stream.next(...(args as [unknown]))),
    return: (value) => underPolicyCheck(check, async () => stream.return?.(value) ?? { done: true, value }),
    throw: (thrown) => underPolicyCheck(check, async () => stream.throw?.(thrown) ?? Promise.reject(thrown)),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
