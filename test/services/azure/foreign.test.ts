/** Messages of other programs in a queue of Service Bus: by a rule they are jobs, and without one they are rejected. */

import { describe, expect, it } from 'vitest';
import { startWorker } from '../../../core/index.ts';
import { foreign, serviceBus } from '../../../functions/azure/index.ts';
import { functionAppsHere, type KitOptions, minute } from './kit.ts';

const openWith = functionAppsHere();

/** Events as Event Grid writes them: https://learn.microsoft.com/azure/event-grid/cloud-event-schema */
const account = '/subscriptions/1/resourceGroups/shop/providers/Microsoft.Storage/storageAccounts/uploads';
interface CloudEvent {
  readonly source: string;
  readonly subject: string;
}
const event = (subject: string, source = account) =>
  JSON.stringify({ specversion: '1.0', type: 'Microsoft.Storage.BlobCreated', source, subject });
const rule: NonNullable<KitOptions['rule']> = (app, job) =>
  foreign(app, {
    from: (body) => (body as CloudEvent).source ?? null,
    senders: [account],
    job,
    map: ({ subject }: CloudEvent) => ({ name: subject }),
  });

const open = (options: KitOptions = { rule }) => openWith(options);

describe('a message of another program', () => {
  it('is a job with a record, in a function', async () => {
    const t = await open();
    t.server.write('mail', event('a.csv'));
    expect((await t.trigger.poll('mail')).map(({ end }) => end)).toEqual(['completed']);
    expect(t.ran).toEqual(['a.csv']);
    expect((await t.store.records.page({})).records).toMatchObject([
      { id: expect.stringMatching(/^foreign-[0-9a-f]{32}$/), job: 'mail.send', status: 'completed' },
    ]);
  });

  it('is retried as that job, with its id', async () => {
    const t = await open();
    let failures = 1;
    t.behaviour.set('a.csv', () => {
      if (failures-- > 0) throw new Error('not now');
    });
    t.server.write('mail', event('a.csv'));
    await t.trigger.poll('mail');
    t.clock.advance(minute);
    await t.trigger.poll('mail');
    expect(t.ran).toEqual(['a.csv', 'a.csv']);
    expect(t.settledAs()).toEqual(['requeued 1', 'acked 2']);
    expect((await t.store.records.page({})).records).toMatchObject([
      { status: 'completed', attempts: [{}, {}] },
    ]);
  });

  it('runs in a polling worker too, beside the jobs of the app', async () => {
    const t = await open();
    t.server.write('mail', event('a.csv'));
    await t.enqueue('own');
    const { app } = t.client;
    const worker = startWorker(app, { backend: t.backend, store: t.store, untilIdle: true, signals: [] });
    expect((await worker.done).counts).toMatchObject({ acked: 2, rejected: 0 });
    expect(t.ran.toSorted()).toEqual(['a.csv', 'own']);
  });

  it.each([
    ['of another sender', event('a.csv', `${account}2`)],
    ['of another kind', '{"eventType":"a","topic":"b"}'],
    ['that is no JSON', 'a.csv'],
  ])('is rejected as ever: %s', async (_, text) => {
    const t = await open();
    t.server.write('mail', text);
    await t.trigger.poll('mail');
    expect(t.ran).toEqual([]);
    expect(await t.backend.admin!.deadLetters.list({})).toMatchObject([{ reason: 'rejected' }]);
  });

  it('that map cannot read is a dead letter that says what map threw', async () => {
    const t = await open({
      rule: (app, job) =>
        foreign(app, {
          from: () => 'erp',
          senders: ['erp'],
          job,
          map: () => {
            throw new Error('No subject in it.');
          },
        }),
    });
    t.server.write('mail', event('a.csv'));
    await t.trigger.poll('mail');
    const error = expect.stringMatching(
      /^PAYLOAD: The rule of queue "mail" made no job .*: No subject in it\.$/,
    );
    expect(await t.backend.admin!.deadLetters.list({})).toMatchObject([{ reason: 'rejected', error }]);
  });

  it('is rejected where the queue has no rule', async () => {
    const t = await open({});
    t.server.write('mail', event('a.csv'));
    await t.trigger.poll('mail');
    expect(t.ran).toEqual([]);
    expect(await t.backend.admin!.deadLetters.list({})).toMatchObject([{ reason: 'rejected' }]);
  });
});

it('a rule for a queue that is not configured is refused', async () => {
  const t = await open();
  const male = rule(t.client.app, t.job);
  const { connectionString } = t.server;
  expect(() => serviceBus({ connectionString, queues: ['mail'], foreign: { male } })).toThrow(
    expect.objectContaining({ code: 'CONFIG', message: expect.stringContaining('"male"') }),
  );
});
