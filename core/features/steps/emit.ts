/** `client.emit()`: delivers an event to the jobs that wait for it. */

import { checkOptions, isName, namePattern } from '../../base/checks.ts';
import { config, LongshoreError, shown } from '../../base/errors.ts';
import { assertJson } from '../../base/json.ts';
import { faultOf } from '../../base/text.ts';
import type { EmitOptions } from '../../kernel/app/durable.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { sealedSteps } from './seal.ts';
import { deliver, type EventWaiter } from './waiters.ts';

const longestKey = 256;
const longestKeepMs = 30 * 86_400_000;
/** The longest payload in characters. Each job that receives the event keeps it among its steps. */
const mostLetters = 65_536;

export type EmittingClient = Pick<Client, 'app' | 'backend' | 'stores'>;

export function checkEvent(event: string, key: string | null): void {
  if (!isName(event))
    throw new LongshoreError(
      'OPTION',
      `Expected the name of an event to match ${namePattern}, got ${shown(event)}.`,
    );
  const fault = key === null ? null : faultOf(key, longestKey);
  if (fault !== null)
    throw new LongshoreError('OPTION', `Expected the key of event "${event}" to be a text ${fault}.`);
}

/** The prefix of events that Longshore emits itself. */
const ownEvents = 'longshore.';

/** Implements `client.emit()`. Refuses Longshore's own events, because a job trusts their content. */
export async function emit(...call: Parameters<typeof bring>): Promise<number> {
  const [, event] = call;
  if (typeof event === 'string' && event.startsWith(ownEvents))
    throw new LongshoreError(
      'OPTION',
      `Expected the name of an event not to begin with "${ownEvents}", which is reserved, got ${shown(event)}.`,
    );
  return bring(...call);
}

/**
 * Resolves with the number of jobs that received it. Backends may share a store: each is asked to wake the jobs.
 *
 * @param tenantId reaches only jobs of this tenant; `null` = all jobs
 */
export async function bring(
  clients: readonly EmittingClient[],
  event: string,
  payload: unknown,
  options: EmitOptions = {},
  tenantId: string | null = null,
): Promise<number> {
  const { key = null, keepMs = 0 } = options ?? {};
  checkEvent(event, key);
  checkOptions('emit()', options, { key: '', keepMs: '' });
  if (!Number.isSafeInteger(keepMs) || keepMs < 0 || keepMs > longestKeepMs)
    throw new LongshoreError(
      'OPTION',
      `Expected keepMs of emit() to be an integer from 0 to ${longestKeepMs} (30 days), got ${shown(keepMs)}.`,
    );
  if (payload !== undefined) assertJson(payload, 'payload');
  const letters = JSON.stringify(payload)?.length ?? 0;
  if (letters > mostLetters)
    throw new LongshoreError(
      'LIMIT',
      `Expected the payload of event "${event}" to have at most ${mostLetters} characters, got ${letters}. Send an id and load the rest.`,
    );
  const byStore = Map.groupBy(clients, ({ stores }) => stores.steps);
  const failures: unknown[] = [];
  let count = 0;
  for (const [store, sharing] of byStore) {
    if (!store) continue;
    const { app } = sharing[0]!;
    const { clock } = app;
    const got = { at: clock.now(), ...(payload !== undefined && { payload }) };
    const emission = { event, key, got, keepMs, tenantId };
    const wakeAll = async (jobs: readonly EventWaiter[]) => {
      await Promise.all(sharing.map(({ backend }) => wake(backend, jobs)));
    };
    const { reached, failures: missed } = await deliver(sealedSteps(store, app), clock, emission, wakeAll);
    count += reached.length;
    failures.push(...missed);
  }
  if (failures.length > 0) throw failures[0];
  if ([...byStore.keys()].some((store) => store !== undefined)) return count;
  throw config(
    'Expected a store that keeps the steps of jobs, got none. Give connect() one, for example sqliteStore().',
  );
}

/** A job that is not in its queue at this moment checks by itself when it is back. */
async function wake({ pending }: Client['backend'], jobs: readonly EventWaiter[]): Promise<void> {
  await pending?.change(
    jobs.map(({ id, queue }) => ({ id, queue })),
    { notBefore: null },
  );
}
