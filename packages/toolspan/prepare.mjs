// Puts the recorded conversations into the package, licence included; examples/airline is where they are kept.
import { cpSync } from "node:fs";
import { join } from "node:path";

const kept = join(import.meta.dirname, "../../examples/airline");
const shipped = join(import.meta.dirname, "data");

for (const name of ["airline-gpt4o-28.jsonl", "LICENSE"]) cpSync(join(kept, name), join(shipped, name));
