// What a law of the kernel is: a sentence, and a check of any copy of the kernel.
export type Core = typeof import("@toolspan/core");

export interface Law {
  readonly title: string;
  check(core: Core): Promise<void>;
}
