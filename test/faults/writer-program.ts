// Builds the writer and everything that it imports into one file, as it is, or with one thing broken.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Plugin } from "vite";

export interface Sabotage {
  /** Text that stands exactly once in the sources of the receipts package. */
  readonly from: string;
  readonly to: string;
}

export interface WriterProgram {
  readonly path: string;
  remove(): void;
}

const SOURCE = join(import.meta.dirname, "../../packages/receipts/src");

/** One file starts faster than a hundred, and a run does not depend on when `dist` was built. */
export async function writerProgram(sabotages: readonly Sabotage[] = []): Promise<WriterProgram> {
  const outDir = mkdtempSync(join(tmpdir(), "toolspan-writer-"));
  const remove = (): void => rmSync(outDir, { recursive: true, force: true });
  try {
    await build({
      configFile: false,
      logLevel: "silent",
      plugins: sabotages.map(patch),
      resolve: { conditions: ["@toolspan/source", "node"] },
      ssr: { noExternal: true, resolve: { conditions: ["@toolspan/source", "node"] } },
      build: {
        outDir,
        minify: false,
        target: "node20",
        ssr: join(import.meta.dirname, "writer.ts"),
        rollupOptions: { output: { entryFileNames: "writer.mjs" } },
      },
    });
  } catch (error) {
    remove();
    throw error;
  }
  return { path: join(outDir, "writer.mjs"), remove };
}

function patch({ from, to }: Sabotage): Plugin {
  let found = 0;
  return {
    name: "sabotage",
    transform: {
      order: "pre",
      handler(code, id) {
        if (!id.startsWith(SOURCE) || !code.includes(from)) return undefined;
        found += code.split(from).length - 1;
        return code.replace(from, () => to);
      },
    },
    buildEnd() {
      if (found !== 1) throw new Error(`the text to patch was found ${found} times, expected once: ${from}`);
    },
  };
}
