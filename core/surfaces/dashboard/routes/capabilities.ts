import type { Client } from '../../../kernel/enqueue/client.ts';
import type { Capability } from '../api.ts';
import type { Run } from '../call.ts';

export const listCapabilities: Run = async ({ client }) => capabilitiesOf(client);

/** What the code of the backend and of its stores declares. Nothing is asked of a service. */
function capabilitiesOf({ app, backend, stores }: Client): Capability[] {
  const { limits, admin, hints } = backend;
  const { records } = stores;
  const all: Readonly<Record<string, string | boolean>> = {
    Backend: backend.name,
    'Largest envelope': bytes(Math.min(app.maxBodyBytes, limits.maxBodyBytes)),
    'Larger payloads in a payload store': stores.payloads !== undefined,
    'Longest delay': span(limits.maxDelayMs),
    'Longest lease by renewing': span(limits.maxLeaseMs),
    'Time of its own, which all hosts share': backend.now !== undefined,
    'Enqueues inside your database transaction': backend.enqueueIn !== undefined,
    'Handlers write in the transaction of their ack': backend.begin !== undefined,
    'Ack and fetch in one step': hints?.ackAndFetch !== undefined,
    'Counts, pausing and clearing of queues': admin !== undefined,
    'Waiting jobs are changed, promoted and removed': backend.pending !== undefined,
    'Pages of dead letters':
      admin === undefined ? false : admin.deadLetters.page ? true : 'from the newest on',
    'Dead letters by their id':
      admin === undefined ? false : admin.deadLetters.get ? true : 'by looking through them',
    'Records of jobs': records.recordsDisabled !== true,
    'Lists of jobs in pages': records.recordsDisabled !== true,
    'Payloads of jobs': records.recordsDisabled !== true,
    'Numbers of the last hour, day and month': stores.metrics !== undefined,
    'Limits over all workers': stores.limits !== undefined,
    Batches: stores.batches !== undefined,
    'Steps that are remembered': stores.steps !== undefined,
    'Schedules made at run time': stores.schedules !== undefined,
    'Audit log': stores.audit !== undefined,
  };
  return Object.entries(all).map(([name, value]) => ({
    name,
    value: typeof value === 'string' ? value : value ? 'yes' : 'no',
  }));
}

const bytes = (count: number): string =>
  count % 1_048_576 === 0 ? `${count / 1_048_576} MB` : `${Math.floor(count / 1024)} KB`;

const units = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1_000],
] as const;

function span(ms: number | null): string {
  if (ms === null) return 'no limit';
  const [unit, size] = units.find(([, size]) => ms % size === 0) ?? ['ms', 1];
  return `${ms / size} ${unit}`;
}
