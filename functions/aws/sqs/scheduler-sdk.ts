/** The only file that imports the Scheduler's SDK. It is loaded on first use. */

import { optional } from '../../../core/base/optional.ts';
import { endpointFor, openClient } from '../sdk-client.ts';
import type { SchedulerOptions } from './options.ts';

export interface OneTime {
  readonly name: string;
  /** Epoch ms. */
  readonly at: number;
  /** JSON of the request to SQS. */
  readonly input: string;
  readonly deadLetterArn: string;
}

const timeoutMs = 5_000;
/** EventBridge tries for one day, and then uses the dead-letter queue. */
const longestLateSeconds = 86_400;

export async function openScheduler(region: string | undefined, options: SchedulerOptions) {
  const { roleArn, groupName = 'default', endpoint, client: given } = options;
  const target = { region, endpoint };
  const [, partition] = roleArn.split(':'); // `aws`, `aws-cn`, `aws-us-gov` …
  const { CreateScheduleCommand, SchedulerClient } = await import('@aws-sdk/client-scheduler').catch(
    optional('@aws-sdk/client-scheduler'),
  );
  const create = (settings: object) => new SchedulerClient(settings);
  const client = openClient(
    given,
    target,
    endpointFor('SCHEDULER', target),
    timeoutMs,
    '@aws-sdk/client-scheduler',
    create,
  );
  return {
    /** Resolves also when it is there already. */
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
              // Not the queue as the target: then a message would have no attributes.
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
      if (!given) client.destroy();
    },
  };
}
