// Disks of the suite's own: one in memory that can be full, one whose power can be cut.
import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
}

export interface Disk {
  readonly path: string;
  /** @throws What `mount` says. */
  remount(options: string): void;
  remove(): void;
}

/** @param size As `mount` takes it: `16k`. */
export function memoryDisk(path: string, size: string): Disk {
  mkdirSync(path);
  run("mount", "-t", "tmpfs", "-o", `size=${size},mode=755`, "tmpfs", path);
  return {
    path,
    remount: (options) => run("mount", "-o", `remount,${options}`, path),
    remove: () => run("umount", "--lazy", path),
  };
}

const IMAGE_BYTES = 24 << 20;
/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: from now on nothing reaches the disk, and what was not synced is gone. */
const SHUTDOWN = `
import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack("I", 2))
`;

/** An ext4 in a file of `folder`. */
export class Ext4Disk implements Disk {
  readonly path: string;
  readonly #image: string;

  constructor(folder: string) {
    this.#image = join(folder, "image");
    this.path = join(folder, "disk");
    mkdirSync(this.path);
    writeFileSync(this.#image, "");
    truncateSync(this.#image, IMAGE_BYTES);
    run("mkfs.ext4", "-q", "-F", this.#image);
    this.#mount();
  }

  remount(options: string): void {
    run("mount", "-o", `remount,${options}`, this.path);
  }

  cutPower(): void {
    run("python3", "-c", SHUTDOWN, this.path);
  }

  /** Comes back as after a power cut; nobody may hold a file of it. */
  restart(): void {
    run("umount", this.path);
    this.#mount();
  }

  remove(): void {
    run("umount", "--lazy", this.path);
  }

  #mount(): void {
    run("mount", "-t", "ext4", "-o", "loop", this.#image, this.path);
  }
}
