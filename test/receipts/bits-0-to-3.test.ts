// Laws of single bits: the lower half of each byte.
import { bitsAreFound } from "./every-bit.ts";

bitsAreFound([0, 1, 2, 3]);
