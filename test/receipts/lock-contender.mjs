// Takes an endpoint's lock again and again: `node lock-contender.mjs <folder> <file> <times>`. While it holds the lock the file is its own; whoever finds it in the hands of another that lives says so.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { EndpointLock } from "../../packages/receipts/dist/deliver/endpoint-lock.js";

const [folder, file, times] = process.argv.slice(2);

function ownerOf() {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return 0;
  }
}

function lives(pid) {
  try {
    // A zombie has been killed and holds nothing.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

for (let done = 0; done < Number(times); ) {
  const taken = EndpointLock.take(folder);
  if (!(taken instanceof EndpointLock)) {
    await after(Math.random() * 2);
    continue;
  }
  const owner = ownerOf();
  if (owner > 0 && lives(owner)) process.stdout.write(`two ${owner} ${process.pid}\n`);
  writeFileSync(file, String(process.pid));
  await after(Math.random() * 2);
  if (ownerOf() !== process.pid) process.stdout.write(`taken ${process.pid}\n`);
  rmSync(file);
  taken.release();
  done++;
  process.stdout.write("held\n");
}
