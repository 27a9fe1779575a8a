/** Reads the namespace's tier and the settings of its queues. That needs the Manage right; without it nothing is checked. */

import type { QueueProperties, ServiceBusAdministrationClient } from '@azure/service-bus';
import { config, type LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import type { Access } from './access.ts';
import { serviceBusError } from './errors.ts';
import { loadSdk } from './sdk.ts';

/** Changes the client before its first use, for example so that a test redirects its requests. */
export type Prepare = (client: ServiceBusAdministrationClient) => void;

/** The supported tiers; the third one, Basic, is refused. */
export type Tier = 'Standard' | 'Premium';

export type Administration = NonNullable<Awaited<ReturnType<typeof openAdministration>>>;

const timeoutMs = 5_000;

/** `null` for an emulator: it has neither tiers nor administration. */
export async function openAdministration(access: Access, prepare: Prepare = () => {}) {
  if ('connectionString' in access && /UseDevelopmentEmulator\s*=\s*true/i.test(access.connectionString))
    return null;
  const { ServiceBusAdministrationClient } = await loadSdk();
  const client =
    'connectionString' in access
      ? new ServiceBusAdministrationClient(access.connectionString)
      : new ServiceBusAdministrationClient(access.fullyQualifiedNamespace, access.credential as never);
  prepare(client);

  /** `null` = the Manage right is missing. */
  async function ask<T>(during: string, request: (limits: object) => Promise<T>): Promise<T | null> {
    try {
      return await request({ abortSignal: AbortSignal.timeout(timeoutMs) });
    } catch (error) {
      if (isForbidden(error)) return null;
      throw serviceBusError(during, error);
    }
  }

  return {
    /** `null` = the Manage right is missing. Throws `CONFIG` for the Basic tier, `BACKEND` if there is no answer. */
    async tier(): Promise<Tier | null> {
      const found = await ask('asking for its tier', (limits) => client.getNamespaceProperties(limits));
      if (found?.messagingSku === 'Basic') throw basic(found.name);
      return (found?.messagingSku as Tier | undefined) ?? null;
    },
    /** The queue's settings; `null` = the Manage right is missing. */
    queue: (entity: string): Promise<QueueProperties | null> =>
      ask(`looking at queue "${entity}"`, (limits) => client.getQueue(entity, limits)),
  };
}

function basic(name: string): LongshoreError {
  return config(
    `Expected namespace "${name}" to be of the Standard or Premium tier, got Basic: it detects no duplicates, so a job would run twice when a process is killed at the wrong moment. Run az servicebus namespace update --sku Standard, and recreate its queues with --enable-duplicate-detection true.`,
  );
}

function isForbidden(error: unknown): boolean {
  const { statusCode, code } = error as { statusCode?: unknown; code?: unknown };
  return (
    statusCode === 401 ||
    statusCode === 403 ||
    /^Unauthorized|^Forbidden/.test(`${code} ${toError(error).name}`)
  );
}
