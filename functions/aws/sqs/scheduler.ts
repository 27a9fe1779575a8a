/**
 * Delays that SQS does not have, by EventBridge Scheduler: one schedule per message, which sends it when it is due and then
 * deletes itself. It is exact to the minute.
 */

import { createHash } from 'node:crypto';
import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { onDemand } from '../../../core/kit/lazy.ts';
import type { Failure } from './batches.ts';
import type { Connection, SchedulerOptions } from './connection.ts';
import type { QueueAddress } from './queues.ts';
import type { SchedulerApi } from './scheduler-sdk.ts';
import type { Parcel } from './sending.ts';

export interface Scheduler {
  /** Whether it can carry this message. What it cannot goes in hops. */
  takes(address: QueueAddress, parcel: Parcel): boolean;
  /** One answer per parcel: `null` = it is scheduled. */
  schedule(address: QueueAddress, parcels: readonly Parcel[]): Promise<(Failure | null)[]>;
}

/** EventBridge Scheduler takes 256 KB of input. */
const mostInputBytes = 262_144;
/** Each is a request of its own. */
const lanes = 8;

export function createScheduler(connection: Connection, options: SchedulerOptions): Scheduler {
  const api = onDemand(async () => (await import('./scheduler-sdk.ts')).openScheduler(connection, options));
  const deadLetterArns = new Map<string, Promise<string>>();

  /** Where EventBridge puts what it could not send within a day. */
  function deadLetterArnOf({ name, deadLetterUrl }: QueueAddress): Promise<string> {
    const known = deadLetterArns.get(name);
    if (known) return known;
    const asked = connection.call(`looking for the dead-letter queue of "${name}"`, async (sqs) => {
      const { QueueArn } = await sqs.attributes(deadLetterUrl, ['QueueArn']);
      return QueueArn!;
    });
    deadLetterArns.set(name, asked);
    asked.catch(() => deadLetterArns.delete(name));
    return asked;
  }

  async function one(
    address: QueueAddress,
    parcel: Parcel,
    scheduler: SchedulerApi,
  ): Promise<Failure | null> {
    try {
      await scheduler.create({
        name: nameOf(parcel),
        at: parcel.dueAt!,
        input: inputOf(address, parcel),
        deadLetterArn: await deadLetterArnOf(address),
      });
      return null;
    } catch (error) {
      const cause = schedulerError(address.name, error);
      return { code: cause.code, message: cause.message, senderFault: false, cause };
    }
  }

  return {
    takes: (address, parcel) =>
      parcel.dueAt !== null && !address.fifo && Buffer.byteLength(inputOf(address, parcel)) <= mostInputBytes,
    async schedule(address, parcels) {
      const scheduler = await api();
      const answers: (Failure | null)[] = new Array(parcels.length).fill(null);
      const rest = parcels.entries();
      const lane = async (): Promise<void> => {
        for (const [i, parcel] of rest) answers[i] = await one(address, parcel, scheduler);
      };
      await Promise.all(Array.from({ length: Math.min(lanes, parcels.length) }, lane));
      return answers;
    },
  };
}

/** The request that EventBridge makes of SQS. */
function inputOf({ url }: QueueAddress, { body, attributes, group }: Parcel): string {
  return JSON.stringify({
    QueueUrl: url,
    MessageBody: body,
    MessageAttributes: attributes,
    ...(group !== null && { MessageGroupId: group }),
  });
}

/**
 * The same message at the same moment has one schedule, however often it is sent; its next copy has another. At most 61 of
 * `A-Z a-z 0-9 _ -`, because it is the request's token too.
 */
function nameOf({ dedupId, dueAt }: Parcel): string {
  const digest = createHash('sha256').update(`${dedupId}@${dueAt}`).digest('hex');
  return `${dedupId.replace(/[^0-9a-zA-Z_-]/g, '_').slice(0, 40)}-${digest.slice(0, 20)}`;
}

const remedies: Readonly<Record<string, string>> = {
  AccessDeniedException: 'Allow scheduler:CreateSchedule on the group, and iam:PassRole on the role.',
  ResourceNotFoundException: 'Create the schedule group, or correct scheduler.groupName.',
  ValidationException: 'Check scheduler.roleArn: the role must trust scheduler.amazonaws.com.',
  UnrecognizedClientException: 'Check the credentials.',
  CredentialsProviderError: 'Give the process credentials: a role, a profile or AWS_ACCESS_KEY_ID.',
  ERR_MODULE_NOT_FOUND: 'Install @aws-sdk/client-scheduler.',
};

function schedulerError(queue: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const { name, message, code } = toError(cause) as NodeJS.ErrnoException;
  const remedy = remedies[name] ?? remedies[code ?? ''];
  const text = `EventBridge Scheduler failed for queue "${queue}": ${message || name}`;
  const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
  if (remedy === undefined) return new LongshoreError('BACKEND', sentence, { cause });
  return new LongshoreError('CONFIG', `${sentence} ${remedy}`, { cause });
}
