/** Which objects outside JSON have a typed form, and what each holds: told by the engine's own slots, never by names or prototypes. */

/** What is written under `v`: a text, or members in the order of iteration (of a Map, pairs of key and value). */
export type TypedValue = TypedText | TypedMembers;

export interface TypedText {
  readonly type: "date" | "bytes";
  readonly text: string | null;
}

export type TypedMembers =
  | { readonly type: "map"; readonly members: readonly (readonly [unknown, unknown])[] }
  | { readonly type: "set"; readonly members: readonly unknown[] };

// Taken once, so that neither a subclass nor a later patch of a prototype decides what is read.
const { getTime, toISOString } = Date.prototype;
const { forEach: forEachOfMap } = Map.prototype;
const { forEach: forEachOfSet } = Set.prototype;
const typedArrayName = getterOf(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const bufferLength = getterOf(ArrayBuffer.prototype, "byteLength");

// Base64 is made in pieces: a multiple of 3 bytes, few enough to pass as arguments.
const BASE64_PIECE = 3 * 4096;

/** Undefined when `value` is no Date, bytes, Map or Set. Own properties on a Date, Map or Set have no place in its form, so such ones are not taken either. */
export function typedValue(value: object): TypedValue | undefined {
  const bytes = bytesOf(value);
  if (bytes !== undefined) return { type: "bytes", text: base64(bytes) };
  const typed = dateOf(value) ?? mapOf(value) ?? setOf(value);
  return typed === undefined || Object.keys(value).length > 0 ? undefined : typed;
}

function bytesOf(value: object): Uint8Array | undefined {
  return attempt(() => {
    if (Reflect.apply(typedArrayName, value, []) !== "Uint8Array") Reflect.apply(bufferLength, value, []);
    // A detached buffer throws here: what it held is gone.
    return new Uint8Array(value as Uint8Array | ArrayBuffer);
  });
}

function dateOf(value: object): TypedValue | undefined {
  const time = attempt(() => Reflect.apply(getTime, value, []));
  if (time === undefined) return undefined;
  return { type: "date", text: Number.isNaN(time) ? null : Reflect.apply(toISOString, value, []) };
}

function mapOf(value: object): TypedValue | undefined {
  const members: [unknown, unknown][] = [];
  return attempt(() => {
    Reflect.apply(forEachOfMap, value, [(item: unknown, key: unknown) => members.push([key, item])]);
    return { type: "map", members };
  });
}

function setOf(value: object): TypedValue | undefined {
  const members: unknown[] = [];
  return attempt(() => {
    Reflect.apply(forEachOfSet, value, [(item: unknown) => members.push(item)]);
    return { type: "set", members };
  });
}

/** The engine throws a TypeError when a built-in method meets an object without its slot: that is the answer, not a fault. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof TypeError) return undefined;
    throw thrown;
  }
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let from = 0; from < bytes.length; from += BASE64_PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(from, from + BASE64_PIECE)));
  }
  return text;
}

function getterOf(prototype: object, key: PropertyKey): () => unknown {
  return Object.getOwnPropertyDescriptor(prototype, key)?.get as () => unknown;
}
