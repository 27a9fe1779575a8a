/** What `longshore doctor` finds in queues of SQS: each check fires where it should, and says nothing of a queue that is right. */

import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { sqs } from '../../../functions/aws/index.ts';
import { lookedAt } from '../diagnoses.ts';
import { benchesHere, type SqsBench } from './bench.ts';

const benches = benchesHere();

const right = { VisibilityTimeout: '1812', MessageRetentionPeriod: '345600', MaximumMessageSize: '1048576' };

async function ready(attributes: Record<string, string> = {}, redrive: object = {}): Promise<SqsBench> {
  const t = await benches.open();
  const set = (QueueUrl: string, Attributes: Record<string, string>) =>
    benches.endpoint.client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
  const policy = { deadLetterTargetArn: t.deadLetterArn, maxReceiveCount: 8, ...redrive };
  await set(t.url, { ...right, RedrivePolicy: JSON.stringify(policy), ...attributes });
  await set(t.deadLetterUrl, { MessageRetentionPeriod: '1209600' });
  return t;
}

describe('queues of SQS', () => {
  it('that fit their jobs are told nothing, and every check is made', async () => {
    const t = await ready();
    expect(await lookedAt(t.backend.admin)).toEqual({ found: {}, notChecked: {} });
  });

  it.each([
    [{ VisibilityTimeout: '60' }, {}, 'sqs.visibility', /^VisibilityTimeout of queue "mail" .* 60000 ms/],
    [{ MaximumMessageSize: '262144' }, {}, 'sqs.size', /262144 bytes/],
    [{ MessageRetentionPeriod: '1209600' }, {}, 'sqs.retention', /no longer than that of queue "mail"/],
    [{}, { maxReceiveCount: 4 }, 'sqs.receives', /to be 8 or more, got 4/],
  ])('with %o and %o are told so', async (attributes, redrive, id, text) => {
    const t = await ready(attributes as Record<string, string>, redrive);
    expect((await lookedAt(t.backend.admin)).found).toEqual({
      [id]: [expect.objectContaining({ where: 'queue "mail"', text: expect.stringMatching(text) })],
    });
  });

  it('whose dead letters go where nobody looks are told so', async () => {
    const other = await benches.open();
    const t = await ready({}, { deadLetterTargetArn: other.deadLetterArn });
    expect(Object.keys((await lookedAt(t.backend.admin)).found)).toEqual(['sqs.redrive']);
  });

  it('are looked at each alone: one that is missing hides nothing of the others', async () => {
    const t = await ready({ VisibilityTimeout: '60' });
    const gone = t.url.replace(/[^/]+$/, 'gone');
    const { client } = benches.endpoint;
    const backend = sqs({ queues: { mail: t.url, gone }, client });
    expect((await lookedAt(backend.admin)).found).toMatchObject({
      'sqs.queues': [{ where: 'queue "gone"', severity: 'error' }],
      'sqs.visibility': [{ where: 'queue "mail"', severity: 'warning' }],
    });
    await backend.close();
  });
});
