// The kernel holds its laws.
import * as core from "@toolspan/core";
import { beforeEach, describe, it } from "vitest";
import { KERNEL_LAWS } from "../support/kernel-laws.ts";

describe("the kernel", () => {
  beforeEach(() => core.diagnostics.listen(() => {}));

  it.each(KERNEL_LAWS)("$title", ({ check }) => check(core));
});
