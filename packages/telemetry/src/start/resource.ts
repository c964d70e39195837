/** Who speaks: the resource attributes of this process, from options and environment. */

import { uuidv7 } from "@toolspan/core";
import {
  ATTR_DEPLOYMENT_ENVIRONMENT_NAME,
  ATTR_SERVICE_INSTANCE_ID,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
} from "../semconv.ts";
import { type Environment, readPairs, readText } from "./environment.ts";

export interface ResourceOptions {
  readonly serviceName?: string | undefined;
  readonly serviceVersion?: string | undefined;
  /** `deployment.environment.name`: `production`, `staging`, … */
  readonly deploymentEnvironment?: string | undefined;
  readonly resourceAttributes?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** One per process: two processes of one service must not overwrite each other's series. */
let instanceId: string | undefined;

/**
 * Resource attributes; what the environment says wins over what the program says, `OTEL_SERVICE_NAME` over
 * `OTEL_RESOURCE_ATTRIBUTES`.
 *
 * @source OpenTelemetry specification, "Resource SDK", specifying resource information via an environment variable
 */
export function resourceAttributes(
  options: ResourceOptions,
  env: Environment,
): Readonly<Record<string, string | number | boolean>> {
  instanceId ??= uuidv7();
  const { serviceName, serviceVersion, deploymentEnvironment } = options;
  const named = readText(env, "OTEL_SERVICE_NAME");
  return {
    [ATTR_SERVICE_NAME]: serviceName ?? "unknown_service:node",
    [ATTR_SERVICE_INSTANCE_ID]: instanceId,
    ...(serviceVersion === undefined ? {} : { [ATTR_SERVICE_VERSION]: serviceVersion }),
    ...(deploymentEnvironment === undefined ? {} : { [ATTR_DEPLOYMENT_ENVIRONMENT_NAME]: deploymentEnvironment }),
    ...options.resourceAttributes,
    ...readPairs(env, "OTEL_RESOURCE_ATTRIBUTES"),
    ...(named === undefined ? {} : { [ATTR_SERVICE_NAME]: named }),
  };
}
