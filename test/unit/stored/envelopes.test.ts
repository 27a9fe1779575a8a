import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { writeEnvelope } from '../../../core/envelope/write-envelope.ts';
import { connect, startWorker } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { clockAt, payloadsIn, storedApp, storedAt } from '../../kit/stored/app.ts';

const path = join(import.meta.dirname, '../../kit/stored/envelopes-0.1.json');
const { bodies, payloads } = JSON.parse(readFileSync(path, 'utf8')) as {
  bodies: string[];
  payloads: Record<string, string>;
};
const now = storedAt + 2 * 3_600_000;

describe('envelopes of version 0.1', () => {
  it('are verified, read, and written again character by character', () => {
    const ring = storedApp(clockAt(now), async () => null).app.keyRing();
    for (const body of bodies) {
      const envelope = readEnvelope(body, { ring, now, maxBytes: 10_000 });
      expect(JSON.parse(body)).toMatchObject(envelope);
      expect(writeEnvelope(envelope, ring)).toBe(body);
    }
  });

  it('run, also with a payload that was too large for the queue', async () => {
    const clock = clockAt(now);
    const backend = memory({ clock });
    const ran: string[] = [];
    const { app } = storedApp(clock, async (to) => void ran.push(to));
    const kept = new Map(Object.entries(payloads).map(([key, text]) => [key, Buffer.from(text)]));
    expect(kept.size).toBe(1);
    const messages = bodies.map((body) => {
      const { identifier: id, queue, job, priority } = JSON.parse(body);
      return { id, queue, job, body, priority, notBefore: null, group: null, tenantId: null };
    });
    await backend.enqueue(messages);
    const store = { payloads: payloadsIn(kept) };
    const queues = ['mail', 'cards', 'other'];
    await startWorker(app, { backend, store, queues, untilIdle: true }).done;
    expect(ran.sort()).toEqual(['card-1', 'delayed', 'large', 'plain', 'ü "quoted" \u2028 \u{1f600}']);
    expect(kept.size).toBe(0);
    await connect(app, backend).close();
  });
});
