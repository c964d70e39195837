/** The two roles beside layers: people list them among the layers, the dispatcher hoists them around the whole stack. */

import { ToolspanError } from "../errors.ts";
import type { ToolCaller } from "./layer.ts";
import type { Observer } from "./observer.ts";
import type { Recorder } from "./recorder.ts";

export const OBSERVER: unique symbol = Symbol.for("toolspan.observer") as never;
export const RECORDER: unique symbol = Symbol.for("toolspan.recorder") as never;

export type ObserverCaller = ToolCaller & { readonly [OBSERVER]: Observer };
export type RecorderCaller = ToolCaller & { readonly [RECORDER]: Recorder };

/** What an observer looks like in a list of layers. Called by hand it throws TOOLSPAN_NOT_IN_DISPATCHER. */
export function observerCaller(observer: Observer): ObserverCaller {
  return Object.assign(refuseByHand(observer.name), { [OBSERVER]: observer });
}

/** What a recorder looks like in a list of layers. Called by hand it throws TOOLSPAN_NOT_IN_DISPATCHER. */
export function recorderCaller(recorder: Recorder): RecorderCaller {
  return Object.assign(refuseByHand(recorder.name), { [RECORDER]: recorder });
}

function refuseByHand(name: string): ToolCaller {
  return () => {
    throw new ToolspanError("TOOLSPAN_NOT_IN_DISPATCHER", { name });
  };
}
