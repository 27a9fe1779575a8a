/** The connection breaks after each frame of a settlement, in either direction. */

import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { ServiceBusBackend } from '../../../functions/azure/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { type Between, startBetween } from '../../kit/network/between.ts';
import { eachWithServiceBus, message, minute, take } from './bus-kit.ts';

const bus = eachWithServiceBus();
let between: Between;
afterEach(() => between.close());

/** A network that breaks after so many frames more. */
async function startBreaking() {
  let left = Number.POSITIVE_INFINITY;
  between = await startBetween(`http://127.0.0.1:${bus.server.port}`, (near, far) => {
    const carry = (from: Socket, to: Socket): void => {
      let bytes = Buffer.alloc(0);
      from.on('data', (more) => {
        bytes = Buffer.concat([bytes, more]);
        // The greeting of a connection has eight bytes and no length of its own.
        for (;;) {
          const size = bytes.subarray(0, 4).equals(Buffer.from('AMQP')) ? 8 : bytes.readUInt32BE(0);
          if (bytes.length < size) return;
          to.write(bytes.subarray(0, size));
          bytes = bytes.subarray(size);
          if (--left === 0) {
            for (const end of [near, far]) end.destroySoon();
            return;
          }
          if (bytes.length < 8) return;
        }
      });
      from.on('close', () => to.destroySoon());
    };
    carry(near, far);
    carry(far, near);
  });
  const { connectionString, port } = bus.server;
  return {
    connectionString: connectionString.replace(`:${port};`, `:${new URL(between.url).port};`),
    breakAfter(frames: number): void {
      left = frames;
    },
    /** Whether it has broken since. */
    hasBroken: () => left <= 0,
  };
}

const verbs: Readonly<
  Record<string, (by: ServiceBusBackend, lease: JobLease) => Promise<boolean | undefined>>
> = {
  ack: async (by, lease) => (await by.ack([{ lease }]))[0],
  'retry later': (by, lease) => by.nack(lease, { delayMs: minute, countAttempt: true }),
  release: (by, lease) => by.nack(lease, { delayMs: 0, countAttempt: false }),
  abandon: (by, lease) => by.abandon(lease, { reason: 'permanent', error: 'HANDLER: no' }),
};

describe.each([false, true])('a connection that breaks, with sessions: %s', (sessions) => {
  it.each(Object.keys(verbs))(
    'after each frame of %s leaves the job once',
    { timeout: 240_000 },
    async (name) => {
      const { keys } = memoryStore({ clock: bus.clock });
      bus.server.deleteQueue('mail');
      const settings = { lockMs: minute, duplicateWindowMs: 60 * minute, requiresSession: sessions };
      bus.server.createQueue('mail', settings);
      const network = await startBreaking();
      const options = { keys, maxRetries: 2, timeoutMs: 2_000, ...(sessions && { sessions: ['mail'] }) };
      const healthy = bus.open(options);
      let broken = 0;
      for (let frames = 1; ; frames++) {
        const id = `m${frames}`;
        const backend = bus.open({ ...options, connectionString: network.connectionString });
        await backend.enqueue([message(id)]);
        const [lease] = await take(backend);
        network.breakAfter(frames);
        const settled = await verbs[name]!(backend, lease!);
        const isOver = !network.hasBroken();
        network.breakAfter(Number.POSITIVE_INFINITY);
        await backend.close();
        bus.clock.advance(minute); // its lock ends, and a copy is due
        const left: JobLease[] = [];
        for (let looks = 0; looks < 3; looks++) left.push(...(await take(healthy)));
        const isIt = (text: string): boolean => text === message(id).body;
        const dead = bus.server.bodies('mail/$DeadLetterQueue').filter(isIt).length;
        const where = `${settled} after frame ${frames}`;
        // What was not settled may come again; nothing may be lost or doubled.
        if (name === 'ack') expect(settled ? left.length : 0, where).toBe(0);
        else expect(left.length + dead, where).toBe(1);
        // Its steps are taken again over another connection. A session is gone with its own.
        if (!sessions && /retry|release/.test(name)) expect(settled, where).toBe(true);
        for (const one of left) await healthy.ack([{ lease: one }]);
        if (isOver) break;
        broken++;
      }
      expect(broken).toBeGreaterThan(1);
    },
  );
});
