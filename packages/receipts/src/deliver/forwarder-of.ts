/** From the option `delivery` of a sink to the forwarder behind it. */

import { kindOf } from "@toolspan/core";
import { invalidOption } from "../options.ts";
import { type DeliveryOptions, deliveryEndpoint } from "./delivery-endpoint.ts";
import { Forwarder } from "./forwarder.ts";

/** Sinks whose receipts are also delivered: `cloud` gives no reference to the local line, `both` does. */
export function isMirrored(sink: unknown): sink is "cloud" | "both" {
  return sink === "cloud" || sink === "both";
}

/**
 * The forwarder that `sinks` need, made from `options`; null where none of them is mirrored.
 *
 * @returns A function: nothing is made on disk before all other options have been checked.
 * @throws TOOLSPAN_INVALID_OPTION where there is no endpoint, or an option that is none; options without such a sink too.
 */
export function forwarderOf(
  subject: string,
  sinks: readonly unknown[],
  options: DeliveryOptions | undefined,
): (root: string) => Forwarder | null {
  const words = sinks.filter((sink) => sink === "local" || isMirrored(sink));
  const mirrored = words.some(isMirrored);
  if (mirrored && words.length > 1) {
    const received = words.map((word) => `"${String(word)}"`).join(" and ");
    throw invalidOption(subject, "sinks", '"local", "cloud" or "both", one of them', received);
  }
  if (options !== undefined && (typeof options !== "object" || options === null || Array.isArray(options))) {
    throw invalidOption(subject, "delivery", "an object of options", kindOf(options));
  }
  if (!mirrored) {
    if (options === undefined) return () => null;
    throw invalidOption(subject, "delivery", 'left out without the sink "cloud" or "both"', "options");
  }
  const endpoint = deliveryEndpoint(subject, options ?? {});
  return (root) => new Forwarder(root, endpoint);
}
