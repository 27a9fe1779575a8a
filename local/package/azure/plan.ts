/** The needs of an app on Azure, computed from its queues and jobs. host.json and the template are renderings of this plan. */

import { config } from '../../../core/base/errors.ts';
import { camel } from '../names.ts';
import type { AzureDeployment, AzureSetting } from '../options.ts';
import type { AppPart } from '../part.ts';

export interface AzurePlan {
  readonly queues: readonly string[];
  /** The queues that require sessions. */
  readonly sessions: readonly string[];
  readonly settings: readonly {
    readonly variable: string;
    readonly parameter: string;
    readonly kind: AzureSetting;
  }[];
  /** Whether the functions keep their state in Table storage. */
  readonly hasTable: boolean;
  /** Containers of Blob storage. */
  readonly containers: readonly string[];
  /** The container of large payloads; `null` = there is none. */
  readonly payloads: string | null;
  /** Whether there is a storage account for table or containers. */
  readonly hasState: boolean;
  readonly functionTimeoutMs: number;
}

/** Settings that the template makes itself. */
export const given = [
  'SERVICEBUS_CONNECTION',
  'SERVICEBUS_CONNECTION__fullyQualifiedNamespace',
  'TABLE_ENDPOINT',
  'BLOB_ENDPOINT',
  'AzureWebJobsStorage',
] as const;

const usualTimeoutMs = 1_800_000;
/** Flex Consumption has no upper bound; a larger number of minutes is most often a mistake. */
const mostTimeoutMs = 86_400_000;
/** Time for what ends after a job. */
const spareMs = 60_000;

export interface Asked extends Required<Pick<AzureDeployment, 'environment' | 'containers'>> {
  readonly sessions: readonly string[] | undefined;
  readonly hasTable: boolean;
  readonly hasPayloads: boolean;
}

/** Throws `CONFIG` for an app that Azure cannot run so. */
export function planAzure(
  app: AppPart,
  { environment, containers, sessions, hasTable, hasPayloads }: Asked,
): AzurePlan {
  const ordered = app.queues.filter((queue) => app.queueRules.get(queue)?.order != null);
  const longest = [...app.jobs.values()].toSorted((a, b) => b.timeoutMs - a.timeoutMs)[0];
  const longestMs = longest?.timeoutMs ?? 0;
  if (longestMs + spareMs > mostTimeoutMs)
    throw config(
      `Job "${longest!.name}" may run for ${longestMs} ms, longer than a function should. Lower its timeoutMs, cut it in steps, or run its queue in a container.`,
    );
  for (const queue of app.queues) checkName(queue, app.queues);
  const payloads = hasPayloads ? (containers[0] ?? 'payloads') : null;
  const all = payloads === null ? containers : [...new Set([payloads, ...containers])];
  return {
    queues: app.queues,
    sessions: sessions ?? ordered,
    settings: Object.entries(environment).map(([variable, kind]) => ({
      variable,
      parameter: parameterOf(variable),
      kind,
    })),
    hasTable,
    containers: all,
    payloads,
    hasState: hasTable || all.length > 0,
    functionTimeoutMs: Math.max(usualTimeoutMs, Math.ceil((longestMs + spareMs) / 60_000) * 60_000),
  };
}

/** Parameters of the template itself. */
const reserved = ['name', 'location', 'signingKeys', 'mostInstances', 'alwaysReady', 'actionGroupId'];

function parameterOf(variable: string): string {
  const name = camel(variable);
  return reserved.includes(name) ? `${name}Setting` : name;
}

function checkName(queue: string, all: readonly string[]): void {
  if (all.includes(`${queue}-failed`))
    throw config(`Queue "${queue}-failed" would be that of the dead letters of "${queue}". Rename one.`);
  const twin = all.find((other) => other !== queue && other.toLowerCase() === queue.toLowerCase());
  if (twin !== undefined)
    throw config(`Service Bus cannot tell the queues "${queue}" and "${twin}" apart. Rename one.`);
}
