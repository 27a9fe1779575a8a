/**
 * Writes the stored files with the version that is checked out: `node test/kit/stored/make.ts FOLDER POSTGRES_URL`. Copy this folder
 * into a checkout of the version that shall write them.
 */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contract, connect, PermanentError, startWorker, tick } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { beat, clockAt, payloadsIn, storedApp, storedAt } from './app.ts';

const [folder = '.', url = ''] = process.argv.slice(2);
const hourMs = 3_600_000;
/** Errors are stored with their stack, which would name folders of this machine. */
Error.stackTraceLimit = 0;

async function fill(backend: Contract.QueueBackend, clock: ReturnType<typeof clockAt>): Promise<void> {
  let id = '';
  const handle = async (to: string, progress: (done: number) => Promise<boolean>) => {
    if (to === 'failing') throw new Error('The mail server is down.');
    if (to === 'dead') throw new PermanentError('There is no such address.');
    await progress(5);
    return { sent: to };
  };
  const { app, send, charge } = storedApp(clock, handle, () => id);
  const client = connect(app, backend);
  const add = (to: string, options = {}) => {
    id = to;
    return client.enqueue(send, { to }, options);
  };
  await add('done');
  await add('failing', { maxRetries: 3 });
  await add('dead');
  id = 'charged';
  await client.enqueue(charge, { to: 'card-1' });
  await startWorker(app, { backend, untilIdle: true }).done;
  await add('cancelled', { delayMs: hourMs });
  await client.cancel('cancelled');
  await add('vanished', { priority: 'critical' });
  await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 30_000, waitMs: 0 });
  await add('ready', { priority: 'low', context: { tenantId: 'tenant-1' }, name: 'A label' });
  await add('urgent', { priority: 'high' });
  await add('delayed', { delayMs: hourMs });
  await add('paused', { queue: 'quiet' });
  await backend.admin!.pause('quiet');
  id = 'charged-again';
  await client.enqueue(charge, { to: 'card-1' });
  await tick(app, client);
  await backend.stores!.workers!.heartbeat(beat);
  await client.close();
}

async function writeEnvelopes(): Promise<void> {
  const clock = clockAt(storedAt);
  const bodies: string[] = [];
  const target = memory({ clock, maxBodyBytes: 2_000 });
  const backend: Contract.QueueBackend = {
    ...target,
    enqueue: (messages) => {
      bodies.push(...messages.map(({ body }) => body));
      return target.enqueue(messages);
    },
  };
  let ids = 0;
  const { app, send, charge } = storedApp(
    clock,
    async () => null,
    () => `message-${++ids}`,
  );
  const kept = new Map<string, Uint8Array>();
  const client = connect(app, backend, { store: { payloads: payloadsIn(kept) } });
  await client.enqueue(send, { to: 'plain' });
  await client.enqueue(
    send,
    { to: 'ü "quoted" \u2028 \u{1f600}' },
    { priority: 0, maxRetries: 0, name: 'Ä label' },
  );
  await client.enqueue(send, { to: 'delayed' }, { delayMs: hourMs, queue: 'other' });
  await client.enqueue(
    charge,
    { to: 'card-1' },
    { context: { tenantId: 'tenant-1', requestId: 'request-1' } },
  );
  await client.enqueue(send, { to: 'large', text: 'x'.repeat(3_000) });
  const payloads = Object.fromEntries(
    [...kept].map(([key, bytes]) => [key, Buffer.from(bytes).toString('utf8')]),
  );
  writeFileSync(join(folder, 'envelopes-0.1.json'), `${JSON.stringify({ bodies, payloads }, null, 2)}\n`);
}

const clock = clockAt(storedAt);
await fill(sqlite({ path: join(folder, 'jobs-0.1.db'), clock }), clock);
await writeEnvelopes();
if (url) {
  const clock = clockAt(storedAt);
  await fill(postgres({ url, clock }), clock);
  const dump = execFileSync(
    'pg_dump',
    ['--inserts', '--no-owner', '--no-privileges', '--schema', 'longshore', url],
    { encoding: 'utf8' },
  );
  // Without what only psql or a newer server understands.
  const lines = dump.split('\n').filter((line) => !/^(--|\\|SET (?!check_function_bodies)|$)/.test(line));
  writeFileSync(join(folder, 'jobs-0.1.sql'), `${lines.join('\n')}\n`);
}
