/** A set of dispatch ids in 9 to 12 bytes each, which gives up part of its range rather than grow beyond its bound. */

/** Words of a key. */
const STRIDE = 2;
const MAX_LOAD = 0.85;
/** Later parts are as large as the first, give or take chance; they must not be divided again. */
const MAX_LOAD_LATER = 0.95;

/** Two halves of a key, 32 bits each. */
export interface Key {
  readonly high: number;
  readonly low: number;
}

/** The 62 random bits at the end of a UUIDv7, told apart by what the id is used for. */
export function keyOf(uuid: string, kind: number, attempt: number): Key {
  const high = Number.parseInt(uuid.slice(19, 23) + uuid.slice(24, 28), 16);
  const low = Number.parseInt(uuid.slice(28, 36), 16);
  return { high: (high ^ Math.imul(attempt, 0x9e3779b1)) >>> 0, low: (low ^ Math.imul(kind, 0x85ebca6b)) >>> 0 };
}

export class KeyTable {
  readonly #maxSlots: number;
  #slots: number;
  readonly #logs: number;
  #words: Uint32Array;
  /** The log of each slot, counted from one; 0 for a slot that is free. */
  #owners: Uint8Array | Uint16Array | Uint32Array;
  #count = 0;
  #parts = 1;
  #part = 0;

  /**
   * @param maxSlots Bound of the table.
   * @param slots Where it starts; growing needs the old and the new one at a time.
   * @param logs How many logs there are; fewer than 255 take a byte a slot.
   */
  constructor(maxSlots: number, slots: number, logs: number) {
    this.#maxSlots = maxSlots;
    this.#slots = Math.min(maxSlots, slots);
    this.#logs = logs;
    this.#words = new Uint32Array(this.#slots * STRIDE);
    this.#owners = ownersOf(this.#slots, logs);
  }

  /** Into how many parts the keys had to be divided; each needs a pass of its own. */
  get parts(): number {
    return this.#parts;
  }

  /** Starts over with the keys of another part. */
  begin(part: number): void {
    this.#part = part;
    this.#count = 0;
    this.#owners.fill(0);
  }

  /** True for a key of the part that this pass is about. */
  covers({ high }: Key): boolean {
    return high % this.#parts === this.#part;
  }

  /** Adds a key with the log (an index) that it stands in; true if the key was there already, in whichever log. */
  add(key: Key, log: number): boolean {
    if (!this.covers(key)) return false;
    const load = this.#part === 0 ? MAX_LOAD : MAX_LOAD_LATER;
    if (this.#count >= this.#slots * load && !this.#makeRoom(key)) return false;
    let known = false;
    for (let at = this.#slot(key); ; at = (at + 1) % this.#slots) {
      const base = at * STRIDE;
      const found = this.#owners[at];
      if (found === 0) {
        this.#words[base] = key.low;
        this.#words[base + 1] = key.high;
        this.#owners[at] = log + 1;
        this.#count++;
        return known;
      }
      if (this.#words[base] !== key.low || this.#words[base + 1] !== key.high) continue;
      if (found === log + 1) return true;
      known = true;
    }
  }

  /** True when the key is there, in the given log if one is given. */
  has(key: Key, log?: number): boolean {
    for (let at = this.#slot(key); ; at = (at + 1) % this.#slots) {
      const base = at * STRIDE;
      const found = this.#owners[at];
      if (found === 0) return false;
      if (this.#words[base] !== key.low || this.#words[base + 1] !== key.high) continue;
      if (log === undefined || found === log + 1) return true;
    }
  }

  #slot({ high, low }: Key): number {
    return (Math.imul(high ^ Math.imul(low, 0x9e3779b1), 0x85ebca6b) >>> 0) % this.#slots;
  }

  /** Grows, or halves the part of the keys that is kept; false when `key` is not of that part any more. */
  #makeRoom(key: Key): boolean {
    const [words, owners] = [this.#words, this.#owners];
    if (this.#slots < this.#maxSlots) this.#slots = Math.min(this.#maxSlots, this.#slots * 2);
    else this.#parts *= 2;
    this.#words = new Uint32Array(this.#slots * STRIDE);
    this.#owners = ownersOf(this.#slots, this.#logs);
    this.#count = 0;
    for (let at = 0; at < owners.length; at++) {
      const owner = owners[at] as number;
      if (owner === 0) continue;
      const base = at * STRIDE;
      this.add({ low: words[base] as number, high: words[base + 1] as number }, owner - 1);
    }
    return this.covers(key);
  }
}

/** As narrow as the number of logs allows. */
function ownersOf(slots: number, logs: number): Uint8Array | Uint16Array | Uint32Array {
  if (logs < 0xff) return new Uint8Array(slots);
  return logs < 0xffff ? new Uint16Array(slots) : new Uint32Array(slots);
}
