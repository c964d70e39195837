// Builds the writer and everything that it imports into one file, as it is, or lying to itself about the disk.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Plugin } from "vite";

/** What a file of the receipts package gets in place of `node:fs`. */
export interface Lie {
  /** Below `packages/receipts/src`. */
  readonly file: string;
  /** Definitions that stand in for those of `node:fs`, which is there as `fs`. */
  readonly code: string;
}

export interface WriterProgram {
  readonly path: string;
  remove(): void;
}

const SOURCE = join(import.meta.dirname, "../../packages/receipts/src");
const LYING_FS = "\0lying-fs";

/** One file starts faster than a hundred, and a run does not depend on when `dist` was built. */
export async function writerProgram(lie?: Lie): Promise<WriterProgram> {
  const outDir = mkdtempSync(join(tmpdir(), "toolspan-writer-"));
  const remove = (): void => rmSync(outDir, { recursive: true, force: true });
  try {
    await build({
      configFile: false,
      logLevel: "silent",
      plugins: lie === undefined ? [] : [told(lie)],
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

function told({ file, code }: Lie): Plugin {
  let imports = 0;
  return {
    name: "lying-fs",
    enforce: "pre",
    resolveId(source, importer) {
      if (source !== "node:fs" || importer !== join(SOURCE, file)) return null;
      imports++;
      return LYING_FS;
    },
    load(id) {
      return id === LYING_FS ? `import * as fs from "node:fs";\nexport * from "node:fs";\n${code}` : null;
    },
    buildEnd() {
      if (imports !== 1) throw new Error(`${file} imports node:fs ${imports} times, expected once`);
    },
  };
}
