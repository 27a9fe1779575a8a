/** An alarm for each way in which jobs get stuck. infra/aws/README.md and docs/aws.md say what to do about each. */

import type { AwsPlan } from './plan.ts';

export interface AlarmPlan {
  /** Name without the prefix. */
  readonly name: string;
  readonly id: string;
  readonly namespace: 'AWS/SQS' | 'AWS/Lambda' | 'AWS/DynamoDB';
  readonly metric: string;
  readonly statistic: 'Maximum' | 'Sum';
  /** It fires above this, or below it if `fires` says so. */
  readonly threshold: number;
  readonly fires: 'above' | 'below';
  /** Minutes in a row. */
  readonly minutes: number;
  /** The watched part: the id of a queue, of dead letters or of a function in the plan. */
  readonly of:
    | { readonly type: 'queue' | 'dead letters' | 'function'; readonly id: string }
    | { readonly type: 'table' | 'index' };
}

const always = { statistic: 'Sum', threshold: 0, fires: 'above', minutes: 1 } as const;

export function alarmsOf({ queues, deadLetters, functions, hasTable }: AwsPlan): AlarmPlan[] {
  const plain = (name: string) => name.replace(/\.fifo$/, '');
  const sqs = { namespace: 'AWS/SQS', statistic: 'Maximum' } as const;
  const letters = deadLetters.map(
    ({ name, id }): AlarmPlan => ({
      ...always,
      name: plain(name).replace(/-dlq$/, '-dead-letters'),
      id,
      ...sqs,
      metric: 'ApproximateNumberOfMessagesVisible',
      of: { type: 'dead letters', id },
    }),
  );
  const ages = queues.map(
    ({ name, id, lateAfterS }): AlarmPlan => ({
      ...always,
      name: `${plain(name)}-age`,
      id: `${id}Age`,
      ...sqs,
      minutes: 5,
      metric: 'ApproximateAgeOfOldestMessage',
      threshold: lateAfterS,
      of: { type: 'queue', id },
    }),
  );
  const calls = functions.flatMap(({ name, id, kind }): AlarmPlan[] => {
    const of = { ...always, namespace: 'AWS/Lambda', of: { type: 'function', id } } as const;
    const ofAll: AlarmPlan[] = [
      { ...of, name: `${name}-errors`, id: `${id}Errors`, metric: 'Errors' },
      { ...of, name: `${name}-throttles`, id: `${id}Throttles`, metric: 'Throttles', minutes: 5 },
    ];
    if (kind === 'worker')
      return [
        ...ofAll,
        { ...of, name: `${name}-recursion`, id: `${id}Recursion`, metric: 'RecursiveInvocationsDropped' },
      ];
    if (kind === 'enqueue') return ofAll;
    const tick = { ...of, name: 'tick-missing', id: 'TickMissing', metric: 'Invocations' };
    return [...ofAll, { ...tick, threshold: 1, fires: 'below', minutes: 5 }];
  });
  const table = { ...always, namespace: 'AWS/DynamoDB', of: { type: 'table' } } as const;
  const throttled: AlarmPlan[] = [
    { ...table, name: 'table-read-throttles', id: 'TableReadThrottles', metric: 'ReadThrottleEvents' },
    { ...table, name: 'table-write-throttles', id: 'TableWriteThrottles', metric: 'WriteThrottleEvents' },
    // An index that falls behind throttles the table's own writes.
    {
      ...table,
      name: 'index-write-throttles',
      id: 'IndexWriteThrottles',
      metric: 'WriteThrottleEvents',
      of: { type: 'index' },
    },
  ];
  return [...letters, ...ages, ...calls, ...(hasTable ? throttled : [])];
}
