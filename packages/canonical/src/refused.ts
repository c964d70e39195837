/** The refusal while it travels outwards: cheap to throw, gathers its path on the way, never leaves the package. */
import { CanonicalRefusal, type RefusalReason } from "./canonical-refusal.ts";

/** Not an Error: it needs no stack trace, and foreign code that runs inside (getters, proxies) never sees one to imitate. */
export class Refused {
  readonly reason: RefusalReason;
  readonly offset: number | undefined;
  /** Innermost first. */
  private readonly segments: (string | number)[] = [];
  readonly #brand = true;

  constructor(reason: RefusalReason, offset?: number) {
    this.reason = reason;
    this.offset = offset;
  }

  /** Tells one without touching the value: `instanceof` would run a proxy's trap. */
  static is(thrown: unknown): thrown is Refused {
    return typeof thrown === "object" && thrown !== null && #brand in thrown;
  }

  within(segment: string | number): this {
    this.segments.push(segment);
    return this;
  }

  toRefusal(): CanonicalRefusal {
    let path = "";
    for (const segment of this.segments.reverse()) {
      path += `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    }
    return new CanonicalRefusal(this.reason, path, this.offset);
  }
}

/**
 * Gives whatever was thrown as a refusal.
 *
 * @param otherwise The reason when it is neither a refusal nor a limit of the engine.
 */
export function toRefused(thrown: unknown, otherwise: RefusalReason): Refused {
  return Refused.is(thrown) ? thrown : new Refused(engineLimit(thrown) ?? otherwise);
}

function engineLimit(thrown: unknown): RefusalReason | undefined {
  if (!(thrown instanceof RangeError)) return undefined;
  const message = String(thrown.message);
  if (message.includes("call stack")) return "depth";
  return message.includes("string length") ? "too_large" : undefined;
}

/** The same where nobody further out would try again: what is thrown by looking at what was thrown (a proxy as error) ends here too. */
export function refusedAtLast(thrown: unknown, otherwise: RefusalReason): Refused {
  try {
    return toRefused(thrown, otherwise);
  } catch (again) {
    return new Refused(isRangeError(again) ? "depth" : otherwise);
  }
}

/** The end of the stack, when met while a refusal is made, is one; a proxy cannot be asked. */
function isRangeError(thrown: unknown): boolean {
  try {
    return thrown instanceof RangeError;
  } catch {
    return false;
  }
}

/** Runs `work`; a refusal inside becomes the CanonicalRefusal that callers see. */
export function orRefusal<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw Refused.is(thrown) ? thrown.toRefusal() : thrown;
  }
}
