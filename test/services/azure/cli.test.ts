/** The command line on Service Bus: both places of its dead letters, the failed queue of a function and the broker's own. */

import { rmSync } from 'node:fs';
import { ServiceBusClient } from '@azure/service-bus';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createAppQueues,
  type ServiceBusServer,
  startServiceBus,
} from '../../../local/simulate/service-bus/server.ts';
import { from, json, makeProject, shopOn } from '../../e2e/cli/kit.ts';

let server: ServiceBusServer;
let cwd: string;
beforeAll(async () => {
  server = await startServiceBus();
  createAppQueues(server, ['default', 'mail']);
  // Without queues: then the backend does not know them until the app names them.
  const backend = `() => serviceBus({ connectionString: '${server.connectionString}', longPollMs: 1_000 })`;
  cwd = makeProject({
    'longshore.config.ts': `import { serviceBus } from ${from('functions/azure/index.ts')};
      import { sqliteStore } from ${from('local/backends/sqlite/index.ts')};
      ${shopOn(backend)}
      export const store = () => sqliteStore(import.meta.dirname + '/state.db');`,
  });
});
afterAll(async () => {
  await server.stop();
  rmSync(cwd, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: whatever the command prints
const longshore = (line: string, ...more: string[]): Promise<any> => json(cwd, [...line.split(' '), ...more]);
const counts = async () => {
  const { data } = await longshore('status mail');
  const [{ ready, delayed, dead }] = data.queues;
  return { ready, delayed, dead };
};
const hour = 3_600_000;

/** As the trigger of a function leaves them: with why beside them, in the failed queue. */
async function failInAFunction(ids: readonly string[], job: string, diedAgoMs: number): Promise<void> {
  const client = new ServiceBusClient(server.connectionString);
  const applicationProperties = {
    'longshore.job': job,
    'longshore.reason': 'exhausted',
    'longshore.error': 'HANDLER: down',
    'longshore.attempt': '3',
    'longshore.diedAt': String(Date.now() - diedAgoMs),
  };
  await client.createSender('mail-failed').sendMessages(
    ids.map((id) => ({
      messageId: id,
      body: Buffer.from('{}'),
      applicationProperties: { ...applicationProperties, 'longshore.id': id },
    })),
  );
  await client.close();
}

describe('longshore on Service Bus', () => {
  it('counts dead letters of both places together', async () => {
    await longshore('enqueue mail.send', '{"to":"nobody"}');
    await longshore('enqueue mail.send', '{"to":"Ada"}', '--delay', '10m');
    await longshore('enqueue greet', '{"name":"Ada"}');
    expect(await counts()).toEqual({ ready: 1, delayed: 1, dead: 0 });
    const { data, stderr } = await longshore('work mail default --drain --no-schedules');
    expect({ counts: data.counts, stderr }).toMatchObject({
      counts: { acked: 1, 'dead-lettered': 1 },
      stderr: '',
    });
    await failInAFunction(['f1', 'f2', 'f3'], 'mail.send', 2 * hour);
    await failInAFunction(['g1'], 'greet', 0);
    expect(server.queue('mail/$DeadLetterQueue').counts().ready).toBe(1);
    expect(await counts()).toEqual({ ready: 0, delayed: 1, dead: 5 });
  });

  it('lists what is asked for', async () => {
    const list = async (flags: string) => {
      const { data } = await longshore(`dead list ${flags}`);
      return data.deadLetters
        .map((one: { job: string; reason: string }) => `${one.job} ${one.reason}`)
        .sort();
    };
    const [old, own, fresh] = ['mail.send exhausted', 'mail.send permanent', 'greet exhausted'];
    expect(await list('--queue mail')).toEqual([fresh, old, old, old, own]);
    expect(await list('--job greet')).toEqual([fresh]);
    expect(await list('--reason permanent')).toEqual([own]);
    expect(await list('--older-than 1h')).toEqual([old, old, old]);
    expect(await list('--newer-than 1h')).toEqual([fresh, own]);
    expect(await list('--older-than 1h --max 2')).toEqual([old, old]);
    expect(await list('--job other')).toEqual([]);
  });

  it('runs the chosen ones again, at a rate', async () => {
    const { code, data } = await longshore(
      'dead retry --all --queue mail --job mail.send --older-than 1h --rate 2',
    );
    expect({ code, data }).toMatchObject({ code: 0, data: { retried: 3, missing: [], refused: [] } });
    expect(await counts()).toEqual({ ready: 3, delayed: 1, dead: 2 });
  });

  it('runs one of each queue again by its id, and finds nothing where there is nothing', async () => {
    const { data } = await longshore('dead list');
    for (const { id } of data.deadLetters)
      expect((await longshore(`dead retry ${id}`)).data).toMatchObject({
        retried: 1,
        missing: [],
        refused: [],
      });
    expect(await counts()).toMatchObject({ ready: 5, dead: 0 });
    expect(await longshore('dead retry --all --reason permanent')).toMatchObject({
      code: 3,
      data: { retried: 0 },
    });
  });

  it('discards the chosen ones', async () => {
    await failInAFunction(['h1', 'h2'], 'mail.send', 2 * hour);
    await failInAFunction(['h3'], 'mail.send', 0);
    const { data } = await longshore('dead discard --all --older-than 1h --yes');
    expect(data).toMatchObject({ discarded: 2, missing: [], refused: [] });
    expect((await longshore('dead list')).data.deadLetters).toMatchObject([
      { id: 'h3', reason: 'exhausted' },
    ]);
  });

  it('says what Service Bus cannot do', async () => {
    const { code, stderr } = await longshore('pause mail');
    expect(code).toBe(1);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/cannot pause/),
    });
  });
});
