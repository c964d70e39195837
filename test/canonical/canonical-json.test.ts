// Laws of the writer over ordinary and hostile values.
import { CanonicalRefusal, canonicalFromText, canonicalJson } from "@toolspan/canonical";
import { describe, expect, test } from "vitest";

function refusalOf(value: unknown, maxDepth?: number): Pick<CanonicalRefusal, "reason" | "path"> | undefined {
  try {
    canonicalJson(value, maxDepth === undefined ? {} : { maxDepth });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof CanonicalRefusal)) throw thrown;
    expect(thrown.message).not.toMatch(/secret/);
    return { reason: thrown.reason, path: thrown.path };
  }
}

function nested(levels: number, make: (inner: unknown) => unknown): unknown {
  let value: unknown = 0;
  for (let i = 0; i < levels; i++) value = make(value);
  return value;
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function throwing(traps: readonly (keyof ProxyHandler<object>)[], target: object = { a: 1 }): object {
  return new Proxy(target, Object.fromEntries(traps.map((name) => [name, raise])));
}

function raise(): never {
  throw new Error("secret");
}

describe("canonicalJson writes", () => {
  test("null-prototype, frozen and proxied plain objects like any other", () => {
    const members = { b: 1, a: [true, null] };
    const text = '{"a":[true,null],"b":1}';
    expect(canonicalJson(Object.assign(Object.create(null), members))).toBe(text);
    expect(canonicalJson(Object.freeze({ ...members }))).toBe(text);
    expect(canonicalJson(new Proxy(members, {}))).toBe(text);
    expect(canonicalJson({ b: 1, a: new Proxy([true, null], {}) })).toBe(text);
  });

  test("own enumerable string keys only", () => {
    const value = Object.defineProperty({ a: 1, [Symbol("s")]: 2 }, "hidden", { value: 3 });
    expect(canonicalJson(value)).toBe('{"a":1}');
    expect(canonicalJson(Object.assign([1], { extra: 2 }))).toBe("[1]");
  });

  test("keys that name parts of the language as mere keys", () => {
    expect(canonicalJson(JSON.parse('{"toJSON":1,"__proto__":{"x":1},"constructor":2,"length":3,"":4}'))).toBe(
      '{"":4,"__proto__":{"x":1},"constructor":2,"length":3,"toJSON":1}',
    );
  });

  test("shared values twice", () => {
    const shared = { a: [1] };
    expect(canonicalJson([shared, { shared }, shared])).toBe('[{"a":[1]},{"shared":{"a":[1]}},{"a":[1]}]');
    expect(canonicalJson([[shared], new Set([shared])])).toBe('[[{"a":[1]}],{"$toolspan":"set","v":[{"a":[1]}]}]');
    expect(canonicalJson([[[shared]], new Map([[0, shared]])])).toBe(
      '[[[{"a":[1]}]],{"$toolspan":"map","v":[[0,{"a":[1]}]]}]',
    );
  });

  test("an accessor's value, read once", () => {
    let reads = 0;
    const value = {
      get a() {
        reads += 1;
        return reads;
      },
    };
    expect(canonicalJson(value)).toBe('{"a":1}');
    expect(reads).toBe(1);
  });

  test("never what a toJSON says, inherited or own, nor what Object.prototype is polluted with", () => {
    Object.defineProperty(Object.prototype, "toJSON", { value: () => "hijacked", configurable: true });
    try {
      expect(canonicalJson({ a: [1, "x"], b: 1n })).toBe('{"a":[1,"x"],"b":{"$toolspan":"bigint","v":"1"}}');
    } finally {
      delete (Object.prototype as { toJSON?: unknown }).toJSON;
    }
    expect(refusalOf({ toJSON: () => 1 })).toEqual({ reason: "function", path: "/toJSON" });
  });

  test("a million elements and a hundred thousand keys", () => {
    const items = Array.from({ length: 1_000_000 }, (_, i) => i);
    expect(canonicalJson(items)).toBe(JSON.stringify(items));
    const keys = Array.from({ length: 100_000 }, (_, i) => `k${(i * 7919) % 100_000}`);
    const text = `{${keys
      .toSorted()
      .map((key) => `"${key}":1`)
      .join(",")}}`;
    expect(canonicalJson(Object.fromEntries(keys.map((key) => [key, 1])))).toBe(text);
  });

  test("more shapes than it remembers, and the first ones still right", () => {
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 3000; i++) {
        expect(canonicalJson({ [`z${i}`]: 1, same: 2, [`a${i}`]: 3 })).toBe(`{"a${i}":3,"same":2,"z${i}":1}`);
      }
    }
  });

  test("objects with one first key and many continuations each in their own order", () => {
    for (let i = 0; i < 200; i++) {
      expect(canonicalJson({ id: 1, [`x${i}`]: 2, b: 3 })).toBe(`{"b":3,"id":1,"x${i}":2}`);
      expect(canonicalJson({ id: 1, b: 3, [`x${i}`]: 2 })).toBe(`{"b":3,"id":1,"x${i}":2}`);
    }
  });

  test("a value whose getter writes canonical JSON itself", () => {
    const inner = { c: [1], b: 2 };
    const value = {
      z: 1,
      get text() {
        return canonicalJson(inner);
      },
    };
    expect(canonicalJson(value)).toBe('{"text":"{\\"b\\":2,\\"c\\":[1]}","z":1}');
  });
});

describe("canonicalJson refuses", () => {
  class Point {
    x = 1;
  }
  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic.list = [{ back: cyclic }];
  const inMap = new Map<string, unknown>();
  inMap.set("self", { again: inMap });
  const getter = { a: Object.defineProperty({}, "secret/~", { get: raise, enumerable: true }) };

  test.each<[string, unknown, string, string]>([
    ["NaN", { a: [Number.NaN] }, "non_finite", "/a/0"],
    ["infinity", Number.NEGATIVE_INFINITY, "non_finite", ""],
    ["a lone surrogate", { a: "x\ud800" }, "lone_surrogate", "/a"],
    ["one in a long text", [`${"é".repeat(100)}\udc00`], "lone_surrogate", "/0"],
    ["one in a key", { a: { "\udead": 1 } }, "lone_surrogate", "/a"],
    ["a function", { f: () => 1 }, "function", "/f"],
    ["a class", [Point], "function", "/0"],
    ["a symbol", { s: Symbol("secret") }, "symbol", "/s"],
    ["a hole", Object.assign(new Array(3), { 0: 1, 2: 3 }), "sparse_array", "/1"],
    ["a long empty array", new Array(2 ** 32 - 1), "sparse_array", "/0"],
    ["a class instance", { p: new Point() }, "class_instance", "/p"],
    ["an object that inherits", Object.create({ a: 1 }), "class_instance", ""],
    ["one whose line of prototypes ends early", Object.create(Object.create(null)), "class_instance", ""],
    ["a subclass of Array", new (class extends Array {})(), "class_instance", ""],
    ["an error", { e: new Error("secret") }, "class_instance", "/e"],
    ["a regular expression", /secret/, "class_instance", ""],
    ["a boxed number", [Object(1)], "class_instance", "/0"],
    ["a boxed string", [Object("secret")], "class_instance", "/0"],
    ["a boxed BigInt", [Object(1n)], "class_instance", "/0"],
    ["a promise", Promise.resolve(1), "class_instance", ""],
    ["a WeakMap", new WeakMap(), "class_instance", ""],
    ["another typed array", new Float64Array(1), "class_instance", ""],
    ["shared memory", new SharedArrayBuffer(1), "class_instance", ""],
    ["bytes that are gone", detached(), "class_instance", ""],
    ["a proxied Map", new Proxy(new Map(), {}), "class_instance", ""],
    ["a cycle", cyclic, "cycle", "/list/0/back"],
    ["a cycle through a Map", inMap, "cycle", "/0/1/again"],
    ["a throwing getter", getter, "getter_threw", "/a/secret~1~0"],
    ["a throwing get trap", [throwing(["get"])], "getter_threw", "/0/a"],
    ["a throwing ownKeys trap", [throwing(["ownKeys"])], "proxy_threw", "/0"],
    ["a throwing descriptor trap", [throwing(["getOwnPropertyDescriptor"])], "proxy_threw", "/0"],
    ["a throwing prototype trap", [throwing(["getPrototypeOf"])], "proxy_threw", "/0"],
    ["a proxied array without length", [throwing(["get"], [])], "proxy_threw", "/0"],
    ["a revoked proxy", { p: revoked({}) }, "proxy_threw", "/p"],
    ["a revoked proxy of an array", { p: revoked([]) }, "proxy_threw", "/p"],
    ["a revoked proxy of a function", { p: revoked(() => 1) }, "function", "/p"],
    ["what is wrong inside a Set", new Set([1, { a: Number.NaN }]), "non_finite", "/1/a"],
    ["what is wrong as a Map's key", new Map([[() => 1, 1]]), "function", "/0/0"],
  ])("%s", (_, value, reason, path) => {
    expect(refusalOf(value)).toEqual({ reason, path });
  });

  test("what is deeper than allowed, at any depth, without running out of stack", () => {
    const containersPerLevel: [number, (inner: unknown) => unknown][] = [
      [1, (inner) => [inner]],
      [1, (inner) => ({ a: inner })],
      [2, (inner) => new Set([inner])],
      [3, (inner) => new Map([[0, inner]])],
    ];
    for (const [containers, make] of containersPerLevel) {
      const levels = Math.floor(1000 / containers);
      expect(refusalOf(nested(levels, make))).toBeUndefined();
      expect(refusalOf(nested(levels + 1, make))?.reason).toBe("depth");
      expect(refusalOf(nested(100_000, make))?.reason).toBe("depth");
      expect(refusalOf(nested(100_000, make), 1_000_000)?.reason).toBe("depth");
    }
    expect(refusalOf([[1]], 1)).toEqual({ reason: "depth", path: "/0" });
    expect(refusalOf(1, 0)).toBeUndefined();
    expect(refusalOf([], 0)).toEqual({ reason: "depth", path: "" });
  });

  test("exactly what canonicalFromText would not read back for its depth", () => {
    for (const value of [
      1,
      [],
      [[1]],
      [1n],
      { a: undefined },
      [new Date(0)],
      new Map(),
      new Map([[1, [2]]]),
      new Set([[1]]),
    ]) {
      const text = canonicalJson(value);
      const readable = (maxDepth: number) => {
        try {
          return canonicalFromText(text, { maxDepth }) !== undefined;
        } catch {
          return false;
        }
      };
      for (let maxDepth = 0; maxDepth < 6; maxDepth++) {
        expect([text, maxDepth, refusalOf(value, maxDepth) === undefined]).toEqual([
          text,
          maxDepth,
          readable(maxDepth),
        ]);
      }
    }
  });

  test("with the same error from a stack that is nearly used up", () => {
    const value = nested(100, (inner) => ({ a: inner }));
    const outcomes = new Set<string>();
    const descend = (): void => {
      try {
        descend();
      } catch {
        // Each frame on the way back has a little more room than the one before.
      }
      if (outcomes.has("written")) return;
      try {
        canonicalJson(value);
        outcomes.add("written");
      } catch (thrown) {
        if (thrown instanceof CanonicalRefusal) outcomes.add(thrown.reason);
        else if (!(thrown instanceof RangeError)) outcomes.add(String(thrown));
      }
    };
    descend();
    expect([...outcomes].sort()).toEqual(["depth", "written"]);
  });

  test("whatever a getter throws, even things that strike back when looked at", () => {
    const strange = new Proxy(new Error("secret"), {
      get: () => {
        throw strange;
      },
      getPrototypeOf: () => {
        throw strange;
      },
    });
    const thrown: unknown[] = [
      undefined,
      null,
      1,
      "secret",
      Symbol("s"),
      revoked({}),
      strange,
      new RangeError("secret"),
    ];
    for (const error of thrown) {
      const value = {
        get a(): never {
          throw error;
        },
      };
      expect(refusalOf([value])?.reason).toMatch(/^(getter|proxy)_threw$/);
    }
  });

  test("a refusal that a getter throws is that getter's throw", () => {
    const value = {
      get a() {
        return canonicalJson(cyclic);
      },
    };
    expect(refusalOf({ value })).toEqual({ reason: "getter_threw", path: "/value/a" });
  });

  test("a text that no string can hold", () => {
    const value = {
      get a() {
        return "x".repeat(2 ** 30);
      },
    };
    expect(refusalOf(value)).toEqual({ reason: "too_large", path: "/a" });
  });

  test("a depth that is none, as the caller's mistake", () => {
    for (const maxDepth of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => canonicalJson(1, { maxDepth })).toThrow(TypeError);
    }
  });
});

function detached(): ArrayBuffer {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}
