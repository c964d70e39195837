// Laws of single bits: the upper half of each byte.
import { bitsAreFound } from "./every-bit.ts";

bitsAreFound([4, 5, 6, 7]);
