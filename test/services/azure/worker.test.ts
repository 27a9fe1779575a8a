import { afterEach, describe, it } from 'vitest';
import { connect } from '../../../core/index.ts';
import { azure, serviceBus } from '../../../functions/azure/index.ts';
import { deliveryOf } from '../../../functions/azure/service-bus/message.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { type FunctionsHost, startFunctions } from '../../../local/simulate/functions/host.ts';
import {
  createServiceBusTrigger,
  type ServiceBusTrigger,
} from '../../../local/simulate/functions/service-bus-trigger.ts';
import { startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { describeEntrypoint, type EntrypointHarness } from '../../testing/laws/entrypoint.ts';
import { minute, queues } from '../../testing/laws/kit.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';

const connection = 'TEST_SERVICEBUS';
let clock: VirtualClock;

afterEach(() => {
  delete process.env[connection];
});

const harnessOf = (sessions: readonly string[]): EntrypointHarness => ({
  visibilityMs: minute,
  callsAreSingle: true,
  clock() {
    clock = createVirtualClock();
    return clock;
  },
  async open(app, { concurrency = 10 }) {
    const server = await startServiceBus({ clock });
    const settings = { lockMs: minute, duplicateWindowMs: 10 * minute };
    const made = [...queues, ...queues.map((queue) => `${queue}-failed`)];
    for (const queue of made)
      server.createQueue(queue, { ...settings, requiresSession: sessions.includes(queue) });
    const { connectionString } = server;
    process.env[connection] = connectionString;
    // A call that fails waits before it throws.
    app.events.on(({ type }) => {
      if (type === 'backend.failed') setImmediate(() => clock.advance(minute / 2));
    });
    const store = memoryStore({ clock });
    const shared = { connectionString, queues, sessions, keys: store.keys };
    const backend = serviceBus({ ...shared, maxRetries: 0, clock });
    /** By the time that a function has: it is a setting of a function app. */
    const instances = new Map<number, { host: FunctionsHost; trigger: ServiceBusTrigger }>();

    async function instance(functionTimeoutMs: number) {
      const known = instances.get(functionTimeoutMs);
      if (known) return known;
      const host = await startFunctions(() =>
        azure(app, { connection, queues, sessions, store, functionTimeoutMs, marginMs: 2_000, log: false }),
      );
      const trigger = createServiceBusTrigger({
        host,
        connectionString,
        clock,
        functionTimeoutMs,
        maxConcurrentCalls: concurrency,
      });
      instances.set(functionTimeoutMs, { host, trigger });
      return { host, trigger };
    }

    return {
      client: connect(app, backend, { store }),
      async deliver(queue, timeoutMs) {
        const calls = await (await instance(timeoutMs)).trigger.poll(queue);
        // A retry is a copy: what counts as done is what the queue does not hold any more, in any copy.
        const left = server.bodies(queue);
        const done = calls.filter(({ message }) => !left.includes(String(message.body))).length;
        // To throw is how a function says that a message is not done.
        return { taken: calls.length, done, thrown: null };
      },
      async lose(queue) {
        const lost = await (await instance(minute)).trigger.lose(queue);
        // The function had begun with them: in a session nobody else counts that.
        for (const message of lost) await backend.accept(queue, deliveryOf(message), clock.now() + minute);
      },
      async call(event) {
        const { host } = await instance(minute);
        const data = event === undefined ? {} : { json: JSON.stringify(event) };
        return host.invoke('longshore-worker-mail', data, {});
      },
      async write(queue, body) {
        server.write(queue, body, sessions.includes(queue) ? 'of another program' : undefined);
      },
      advance: clock.advance,
      deadLetters: () => backend.admin!.deadLetters.list({}),
      async breakDeadLetters() {
        server.deleteQueue('mail-failed');
        return async () => void server.createQueue('mail-failed', settings);
      },
      async close() {
        for (const { host, trigger } of instances.values()) {
          await trigger.close();
          await host.terminate();
        }
        await backend.close();
        await server.stop();
      },
    };
  },
});

describeEntrypoint('the functions of azure()', harnessOf([]), { describe, it });
describeEntrypoint('the functions of azure() with sessions', harnessOf(queues), { describe, it });
