/**
 * Writes envelopes with the version that is checked out: `node test/kit/stored/make.ts FOLDER`. Copy this folder into a checkout of the
 * version that shall write them.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contract, connect } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { clockAt, payloadsIn, storedApp, storedAt } from './app.ts';

const [folder = '.'] = process.argv.slice(2);
const hourMs = 3_600_000;

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
await client.enqueue(charge, { to: 'card-1' }, { context: { tenantId: 'tenant-1', requestId: 'request-1' } });
await client.enqueue(send, { to: 'large', text: 'x'.repeat(3_000) });
const payloads = Object.fromEntries(
  [...kept].map(([key, bytes]) => [key, Buffer.from(bytes).toString('utf8')]),
);
writeFileSync(join(folder, 'envelopes-0.1.json'), `${JSON.stringify({ bodies, payloads }, null, 2)}\n`);
