// The programs of the stack wired to each other, in a folder that goes away with them.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Collector,
  type Jaeger,
  type Prometheus,
  startCollector,
  startJaeger,
  startPrometheus,
} from "../peers/peers.ts";

export interface Workbench {
  readonly folder: string;
  readonly jaeger: Jaeger;
  readonly collector: Collector;
  readonly prometheus: Prometheus;
  /** For a program: where its telemetry goes, and a state folder of its own. */
  environmentFor(program: string): Readonly<Record<string, string>>;
  /** The state folder that `environmentFor` names. */
  stateDir(program: string): string;
  close(): Promise<void>;
}

/** Starts all three. @param rules Paths of Prometheus rule files. */
export async function startWorkbench(rules: readonly string[] = []): Promise<Workbench> {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-e2e-"));
  const at = (name: string): string => {
    const path = join(folder, name);
    mkdirSync(path, { recursive: true });
    return path;
  };
  const started: { stop(): Promise<unknown> }[] = [];
  const close = async (): Promise<void> => {
    for (const program of started.reverse()) await program.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const jaeger = await startJaeger({ folder: at("jaeger") });
    started.push(jaeger);
    const env = { TOOLSPAN_JAEGER_OTLP_GRPC: jaeger.otlpGrpc };
    const collector = await startCollector({ folder: at("collector"), env });
    started.push(collector);
    const prometheus = await startPrometheus({ folder: at("prometheus"), targets: [collector.metrics], rules });
    started.push(prometheus);
    const stateDir = (program: string): string => at(join("state", program));
    return {
      folder,
      jaeger,
      collector,
      prometheus,
      stateDir,
      environmentFor: (program) => ({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.otlpHttp,
        TOOLSPAN_RECEIPTS_OTLP_ENDPOINT: collector.receipts,
        TOOLSPAN_STATE_DIR: stateDir(program),
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
