/** The folder of one endpoint: cursors, parked records, the lock. */

import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readSmallFile } from "../log/read-small-file.ts";
import { privateFolder } from "../log/receipt-folder.ts";
import { isObject } from "../records/field.ts";
import type { DeliveryEndpoint } from "./delivery-endpoint.ts";
import { replaceFile } from "./replace-file.ts";

const DELIVERY_FOLDER = "delivery";
const FACTS = "endpoint.json";
const MAX_FACTS_BYTES = 65_536;

/** An endpoint that something was delivered to before, or that somebody has named. */
export interface KnownEndpoint {
  readonly id: string;
  /** Null where its folder does not say it. */
  readonly url: string | null;
}

/** The folder of `endpoint`, whether it is there or not. */
export function deliveryFolder(root: string, id: string): string {
  return join(root, DELIVERY_FOLDER, id);
}

/**
 * Makes the endpoint's folder where it is missing, 0700, and notes whose it is.
 *
 * @returns Its path, links resolved.
 * @throws TOOLSPAN_RECEIPT_STORE when it is not a private folder of this user, or cannot be written.
 */
export function makeDeliveryFolder(root: string, endpoint: DeliveryEndpoint): string {
  privateFolder(root, DELIVERY_FOLDER);
  const folder = privateFolder(join(root, DELIVERY_FOLDER), endpoint.id);
  const facts = `${JSON.stringify({ version: 1, url: endpoint.shown, outside: endpoint.outside })}\n`;
  if (factsIn(join(folder, FACTS)) !== facts) replaceFile(folder, FACTS, facts);
  return folder;
}

/** Removes what killed senders have left; only for who holds the lock. */
export function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    // Locks and facts are also written by those who do not hold the lock.
    if (name.endsWith(".next") && !name.startsWith("lock.") && !name.startsWith(FACTS)) {
      rmSync(join(folder, name), { force: true });
    }
  }
}

/** Every endpoint that has a folder here. */
export function knownEndpoints(root: string): readonly KnownEndpoint[] {
  const folder = join(root, DELIVERY_FOLDER);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ id: name, url: urlIn(join(folder, name, FACTS)) }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Null where it cannot be read, whatever lies there. */
function factsIn(path: string): string | null {
  try {
    return readSmallFile(path, MAX_FACTS_BYTES).bytes.toString("utf8");
  } catch {
    return null;
  }
}

function urlIn(path: string): string | null {
  try {
    const facts: unknown = JSON.parse(factsIn(path) ?? "null");
    return isObject(facts) && typeof facts.url === "string" ? facts.url : null;
  } catch {
    return null; // it is an endpoint all the same
  }
}
