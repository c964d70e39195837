/** Lets one caller at a time work under a key, while the others wait for what it finds. */

/** What came of a flight: a value for all who waited, or none. */
export type Landed<T> = { readonly value: T } | undefined;

export class SingleFlight<T> {
  readonly #flights = new Map<string, Promise<Landed<T>>>();

  /** The flight under way for `key`; undefined where there is none. Never rejects. */
  of(key: string): Promise<Landed<T>> | undefined {
    return this.#flights.get(key);
  }

  /**
   * Starts a flight, which must not be under way: `fn` runs at once, and says through `land` what to give to those who wait.
   *
   * @returns What `fn` returns or throws. The flight is over by then; one that has not landed gives those who wait nothing.
   */
  async lead<R>(key: string, fn: (land: (value: T) => void) => Promise<R>): Promise<R> {
    let landed: Landed<T>;
    let arrive: (landed: Landed<T>) => void = () => {};
    this.#flights.set(
      key,
      new Promise((resolve) => {
        arrive = resolve;
      }),
    );
    try {
      return await fn((value) => {
        landed = { value };
      });
    } finally {
      this.#flights.delete(key);
      arrive(landed);
    }
  }
}
