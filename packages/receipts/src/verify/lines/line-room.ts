/** Rooms that packed lines lie in, used again and again: what a thread throws away, it holds on to for long. */

/** What a line takes: its attempt, its texts (leaf, dispatch id, time), its kind. */
const ATTEMPT_BYTES = 4;
export const TEXT_BYTES = 130;
const LINE_BYTES: number = ATTEMPT_BYTES + TEXT_BYTES + 1;
const MAX_FREE = 16;

const free: ArrayBuffer[] = [];

/** A room as what lies in it. */
export interface LineRoom {
  readonly bytes: ArrayBuffer;
  /** How many lines it is for. */
  readonly capacity: number;
  readonly attempts: Uint32Array;
  readonly texts: Buffer;
  readonly kinds: Uint8Array;
}

export function lineRoom(bytes: ArrayBuffer): LineRoom {
  const capacity = bytes.byteLength / LINE_BYTES;
  return {
    bytes,
    capacity,
    attempts: new Uint32Array(bytes, 0, capacity),
    texts: Buffer.from(bytes, capacity * ATTEMPT_BYTES, capacity * TEXT_BYTES),
    kinds: new Uint8Array(bytes, capacity * (ATTEMPT_BYTES + TEXT_BYTES), capacity),
  };
}

/** A room for at least so many lines; what it held before is still there. */
export function takeRoom(lines: number): LineRoom {
  const at = free.findIndex(({ byteLength }) => byteLength >= lines * LINE_BYTES);
  const [found] = at === -1 ? [] : free.splice(at, 1);
  return lineRoom(found ?? new ArrayBuffer(lines * LINE_BYTES));
}

/** Gives a room back that nobody looks at any more. */
export function giveRoom(bytes: ArrayBuffer): void {
  if (free.length < MAX_FREE) free.push(bytes);
}

/** Rooms for another thread, at most `most`. */
export function takeFreeRooms(most: number): ArrayBuffer[] {
  return free.splice(0, most);
}
