/** Delays over 15 minutes by EventBridge Scheduler: one schedule per message sends it on time and then deletes itself. Accurate to the minute. */

import { createHash } from 'node:crypto';
import { optional } from '../../../core/base/optional.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { type Service, serviceOf } from '../../../core/kit/service.ts';
import { endpointFor, openClient, type Remedies, type SdkClient, sdkError } from '../sdk-client.ts';
import { type Failure, failedBy } from './batches.ts';
import type { QueueAddress } from './queues.ts';
import type { SqsApi } from './sdk.ts';
import { groupId, type SqsMessage } from './send.ts';

export interface SchedulerOptions {
  /** The role that EventBridge Scheduler assumes, with sqs:SendMessage on the queues and their dead-letter queues. */
  readonly roleArn: string;
  /** The group of the schedules. @default 'default' */
  readonly groupName?: string;
  /** Another server than AWS. */
  readonly endpoint?: string;
  /** A `SchedulerClient` to use instead of a new one. */
  readonly client?: SdkClient;
}

export type Scheduler = ReturnType<typeof createScheduler>;

/** EventBridge Scheduler accepts 256 KB of input. */
const mostInputBytes = 262_144;
const mostRequestsAtOnce = 8;

export function createScheduler(
  sqs: Pick<Service<SqsApi>, 'call'>,
  region: string | undefined,
  options: SchedulerOptions,
) {
  const { call, close } = serviceOf(
    () => openScheduler(region, options),
    (during, error) => sdkError(`EventBridge Scheduler failed ${during}`, error, remedies),
  );
  const deadLetterArns = new Map<string, Promise<string>>();

  /** EventBridge puts messages there that it could not send within a day. */
  function deadLetterArnOf({ name, deadLetterUrl }: QueueAddress): Promise<string> {
    const known = deadLetterArns.get(name);
    if (known) return known;
    const asked = sqs.call(`looking for the dead-letter queue of "${name}"`, async (api) => {
      const { QueueArn } = await api.attributes(deadLetterUrl, ['QueueArn']);
      return QueueArn!;
    });
    deadLetterArns.set(name, asked);
    asked.catch(() => deadLetterArns.delete(name));
    return asked;
  }

  async function scheduleOne(address: QueueAddress, message: SqsMessage): Promise<Failure | null> {
    try {
      const deadLetterArn = await deadLetterArnOf(address);
      const [name, at, input] = [nameOf(message), message.dueAt!, inputOf(address, message)];
      await call(`for queue "${address.name}"`, (api) => api.create({ name, at, input, deadLetterArn }));
      return null;
    } catch (cause) {
      return failedBy(cause);
    }
  }

  return {
    /** Whether the scheduler can carry this message. Others are sent in hops. */
    takes: (address: QueueAddress, message: SqsMessage): boolean =>
      message.dueAt !== null &&
      !address.fifo &&
      Buffer.byteLength(inputOf(address, message)) <= mostInputBytes,
    /** One answer per message: `null` = it is scheduled. */
    async schedule(address: QueueAddress, messages: readonly SqsMessage[]): Promise<(Failure | null)[]> {
      const answers: (Failure | null)[] = [];
      const scheduleInto = async ([i, message]: [number, SqsMessage]): Promise<void> => {
        answers[i] = await scheduleOne(address, message);
      };
      await forEach(messages.entries(), scheduleInto, mostRequestsAtOnce);
      return answers;
    },
    close,
  };
}

/**
 * The request to SQS that EventBridge sends. `<aws.scheduler.` is escaped: EventBridge would replace keywords such as
 * `<aws.scheduler.execution-id>`.
 */
function inputOf({ url }: QueueAddress, { body, attributes, group }: SqsMessage): string {
  const input = JSON.stringify({
    QueueUrl: url,
    MessageBody: body,
    MessageAttributes: attributes,
    ...(group !== null && { MessageGroupId: groupId(group) }),
  });
  return input.replaceAll('<aws.scheduler.', '\\u003caws.scheduler.');
}

/**
 * Sending the same message for the same time twice gives one schedule; its next copy gets another one. At most 61 of `A-Z a-z 0-9 _ -`, because
 * the name is also the request's token.
 */
function nameOf({ dedupId, dueAt }: SqsMessage): string {
  const digest = createHash('sha256').update(`${dedupId}@${dueAt}`).digest('hex');
  return `${dedupId.replace(/[^0-9a-zA-Z_-]/g, '_').slice(0, 40)}-${digest.slice(0, 20)}`;
}

const remedies: Remedies = {
  AccessDeniedException: 'Allow scheduler:CreateSchedule on the group, and iam:PassRole on the role.',
  ResourceNotFoundException: 'Create the schedule group, or correct scheduler.groupName.',
  ValidationException: 'Check scheduler.roleArn: the role must trust scheduler.amazonaws.com.',
};

interface OneTime {
  readonly name: string;
  /** Epoch ms. */
  readonly at: number;
  /** JSON of the request to SQS. */
  readonly input: string;
  readonly deadLetterArn: string;
}

const timeoutMs = 5_000;
/** EventBridge retries for one day and then uses the dead-letter queue. */
const longestLateSeconds = 86_400;

async function openScheduler(region: string | undefined, options: SchedulerOptions) {
  const { roleArn, groupName = 'default' } = options;
  const [, partition] = roleArn.split(':'); // `aws`, `aws-cn`, `aws-us-gov` …
  const { CreateScheduleCommand, SchedulerClient } = await import('@aws-sdk/client-scheduler').catch(
    optional('@aws-sdk/client-scheduler'),
  );
  const goesTo = endpointFor('SCHEDULER', options);
  const service = { sdk: '@aws-sdk/client-scheduler', goesTo, timeoutMs };
  const client = openClient({ ...options, region }, service, (settings) => new SchedulerClient(settings));
  return {
    /** Also resolves if the schedule exists. */
    async create({ name, at, input, deadLetterArn }: OneTime): Promise<void> {
      try {
        await client.send(
          new CreateScheduleCommand({
            Name: name,
            GroupName: groupName,
            ClientToken: name,
            // Whole seconds, and never early.
            ScheduleExpression: `at(${new Date(Math.ceil(at / 1000) * 1000).toISOString().slice(0, 19)})`,
            ScheduleExpressionTimezone: 'UTC',
            FlexibleTimeWindow: { Mode: 'OFF' },
            ActionAfterCompletion: 'DELETE',
            Target: {
              // The target is not the queue itself, because such a message has no attributes.
              Arn: `arn:${partition}:scheduler:::aws-sdk:sqs:sendMessage`,
              RoleArn: roleArn,
              Input: input,
              RetryPolicy: { MaximumEventAgeInSeconds: longestLateSeconds, MaximumRetryAttempts: 185 },
              DeadLetterConfig: { Arn: deadLetterArn },
            },
          }),
        );
      } catch (error) {
        if ((error as Error).name !== 'ConflictException') throw error;
      }
    },
    close(): void {
      if (!options.client) client.destroy();
    },
  };
}
