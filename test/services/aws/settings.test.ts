/** The settings of queues, as SQS tells them, against what their jobs need. */

import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp, defineJob, keyRing, type LongshoreEvent } from '../../../core/index.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { startLocal } from '../../../local/start.ts';
import { benchesHere, type SqsBench } from './bench.ts';

const benches = benchesHere();
const bench = benches.open;

const needs = { maxRetries: 3, timeoutMs: 300_000 };
const right = { VisibilityTimeout: '1812', MessageRetentionPeriod: '345600', MaximumMessageSize: '1048576' };

function set(QueueUrl: string, Attributes: Record<string, string>) {
  return benches.endpoint.client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
}

async function ready(attributes: Record<string, string> = {}): Promise<SqsBench> {
  const t = await bench();
  const policy = { deadLetterTargetArn: t.deadLetterArn, maxReceiveCount: 8 };
  await set(t.url, { ...right, RedrivePolicy: JSON.stringify(policy), ...attributes });
  await set(t.deadLetterUrl, { MessageRetentionPeriod: '1209600' });
  return t;
}

const adviceOf = (t: SqsBench) => t.backend.admin.check!(() => needs);

describe('a queue of SQS', () => {
  it('that fits its jobs is told nothing', async () => {
    expect(await adviceOf(await ready())).toEqual([]);
  });

  it('is told when a function behind it would run a job twice', async () => {
    const t = await ready({ VisibilityTimeout: '300' });
    const text = `VisibilityTimeout of queue "mail" at ${t.url} is 300000 ms, and its jobs may run for 300000 ms.`;
    expect(await adviceOf(t)).toEqual([expect.stringContaining(text)]);
    expect(await t.backend.admin.check!(() => ({ ...needs, timeoutMs: 299_000 }))).toEqual([]);
  });

  it('is told when SQS refuses jobs that are within our limit', async () => {
    const t = await ready({ MaximumMessageSize: '262144' });
    expect(await adviceOf(t)).toEqual([
      expect.stringMatching(/^MaximumMessageSize .* 262144 bytes.*1048576/),
    ]);
  });

  it('is told when its dead letters go where nobody looks', async () => {
    const t = await ready();
    const other = await bench();
    const policy = { deadLetterTargetArn: other.deadLetterArn, maxReceiveCount: 8 };
    await set(t.url, { RedrivePolicy: JSON.stringify(policy) });
    const text = `moves jobs to ${other.deadLetterArn}, where longshore dead does not look`;
    expect(await adviceOf(t)).toEqual([expect.stringContaining(text)]);
  });

  it('is told when its dead letters are not kept for longer than it keeps jobs', async () => {
    const t = await ready();
    await set(t.deadLetterUrl, { MessageRetentionPeriod: '345600' });
    const text = `MessageRetentionPeriod of ${t.deadLetterUrl} is 345600 s`;
    expect(await adviceOf(t)).toEqual([expect.stringContaining(text)]);
    // 14 days are the most that SQS keeps anything.
    await set(t.deadLetterUrl, { MessageRetentionPeriod: '1209600' });
    await set(t.url, { MessageRetentionPeriod: '1209600' });
    expect(await adviceOf(t)).toEqual([expect.stringMatching(/is 1209600 s, .* Give the queue less/)]);
  });
});

describe('a polling worker that starts', () => {
  it('says that SQS gives its jobs up too early, and works', async () => {
    const t = await ready();
    const policy = { deadLetterTargetArn: t.deadLetterArn, maxReceiveCount: 2 };
    await set(t.url, { RedrivePolicy: JSON.stringify(policy) });
    const mail = defineJob({ name: 'mail', queue: 'mail', payload: z.null(), handle: () => {} });
    const events: LongshoreEvent[] = [];
    const app = createApp({
      jobs: [mail],
      signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
      on: (event) => events.push(event),
    });
    const store = memoryStore();
    const options = { backend: t.backend, store, logger: false, signals: [], untilIdle: true } as const;
    const local = await startLocal(app, options);
    expect(await local.done).toMatchObject({ reason: 'idle' });
    expect(events.filter(({ type }) => type === 'backend.warning')).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/maxReceiveCount of queue "mail" at .* to be 8 or more, got 2/),
      }),
    ]);
  });
});
