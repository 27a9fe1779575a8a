/** Checks whether the settings of a queue suit its jobs. */

import { config } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import type { Check, DiagnosisRequest, Problem, QueueNeeds } from '../../../core/contract/diagnosis.ts';
import { check, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import type { Connection } from './connection.ts';
import { maxBodyBytes } from './message.ts';
import type { QueueAddress } from './queues.ts';
import type { QueueAttribute } from './sdk.ts';

/** Limits of SQS. */
const mostReceives = 1_000;
const mostKeptS = 1_209_600;
/** Deliveries in addition to the attempts: a throttled or killed function uses them up, too. */
const spareReceives = 5;

type Attributes = Partial<Record<QueueAttribute, string>>;

const names: readonly QueueAttribute[] = [
  'QueueArn',
  'RedrivePolicy',
  'VisibilityTimeout',
  'MessageRetentionPeriod',
  'MaximumMessageSize',
];

interface RedrivePolicy {
  readonly maxReceiveCount?: number | string;
  readonly deadLetterTargetArn?: string;
}

interface Lane {
  readonly address: QueueAddress;
  readonly attributes: Attributes;
  readonly redrive: RedrivePolicy;
}

interface LookedQueue {
  readonly lanes: readonly Lane[];
  /** Attributes of the dead-letter queue. */
  readonly letters: Attributes;
}

/** A problem, with its id in `longshore doctor`. */
export interface Advice extends Problem {
  readonly id: 'sqs.visibility' | 'sqs.redrive' | 'sqs.retention' | 'sqs.size';
}

/**
 * Throws `CONFIG` unless the queue and its dead-letter queue exist and SQS keeps jobs in the queue until their last retry.
 * @param needs of the queue's jobs; `null` = not known
 * @returns what may be wrong: SQS does not show whether a function or a polling worker takes the jobs
 */
export async function checkQueue(
  connection: Connection,
  queue: string,
  needs: QueueNeeds | null = null,
): Promise<string[]> {
  const looked = await lookAt(connection, queue);
  for (const lane of looked.lanes) {
    const problem = receivesOf(lane, needs);
    if (problem) throw config(`${problem.text} ${problem.remedy}`);
  }
  return adviceOf(looked, needs).map(({ text, remedy }) => `${text} ${remedy}`);
}

/** Throws `CONFIG` if a queue does not exist or may not be read. */
export async function lookAt({ queues, addressOf, call }: Connection, queue: string): Promise<LookedQueue> {
  const { deadLetterUrl } = addressOf(queue);
  const lanes: Lane[] = [];
  for (const address of queues.lanesOf(queue)) {
    const attributes = await call(`looking for queue "${queue}" at ${address.url}`, (api) =>
      api.attributes(address.url, names),
    );
    const redrive = JSON.parse(attributes.RedrivePolicy || '{}') as RedrivePolicy;
    lanes.push({ address, attributes, redrive });
  }
  const letters = await call(`looking for the dead-letter queue of "${queue}" at ${deadLetterUrl}`, (api) =>
    api.attributes(deadLetterUrl, names),
  );
  return { lanes, letters };
}

/** On a FIFO queue a message may be delivered, and counted, each time an earlier one of its group is. So the count has no bound. */
function receivesOf({ address, redrive }: Lane, needs: QueueNeeds | null): Problem | null {
  const { name, url, fifo } = address;
  const { maxReceiveCount: most = mostReceives } = redrive;
  const wanted = needs === null ? 1 : needs.maxRetries + spareReceives;
  const least = fifo ? mostReceives : Math.min(wanted, mostReceives);
  if (Number(most) >= least) return null;
  const where = `${fifo ? 'FIFO ' : ''}queue "${name}" at ${url}`;
  return {
    where: `queue "${name}"`,
    text: `Expected maxReceiveCount of ${where} to be ${least} or more, got ${most}. SQS would move jobs to the dead letters before their last retry.`,
    remedy: `Set it to ${least} or more.`,
  };
}

export function adviceOf({ lanes, letters }: LookedQueue, needs: QueueNeeds | null): Advice[] {
  return lanes.flatMap((lane) => adviceOfLane(lane, letters, needs));
}

function adviceOfLane(
  { address, attributes, redrive }: Lane,
  letters: Attributes,
  needs: QueueNeeds | null,
): Advice[] {
  const { name, url, deadLetterUrl, fifo } = address;
  const { deadLetterTargetArn: target } = redrive;
  const advice: Advice[] = [];
  const tell = (id: Advice['id'], text: string, remedy: string) =>
    advice.push({ id, where: `queue "${name}"`, text, remedy });
  const of = `of queue "${name}" at ${url}`;
  const hiddenMs = Number(attributes.VisibilityTimeout) * 1_000;
  if (needs && hiddenMs <= needs.timeoutMs) {
    tell(
      'sqs.visibility',
      `VisibilityTimeout ${of} is ${hiddenMs} ms, and its jobs may run for ${needs.timeoutMs} ms. Behind a Lambda function they would run twice.`,
      "Set it to 6 times the function's timeout. A polling worker sets its own.",
    );
  }
  if (target !== undefined && target !== letters.QueueArn) {
    tell(
      'sqs.redrive',
      `The RedrivePolicy ${of} moves jobs to ${target}, where longshore dead does not look.`,
      `Set it to the queue at ${deadLetterUrl}, or name the other one in deadLetterUrls of sqs().`,
    );
  }
  const keptS = Number(letters.MessageRetentionPeriod);
  // Messages that SQS moves keep their age, except on FIFO queues.
  if (!fifo && target !== undefined && keptS <= Number(attributes.MessageRetentionPeriod)) {
    tell(
      'sqs.retention',
      `MessageRetentionPeriod of ${deadLetterUrl} is ${keptS} s, no longer than that ${of}. It counts from when the job was sent, so letters may vanish at once.`,
      keptS < mostKeptS ? `Set it to ${mostKeptS}.` : 'Give the queue less, for example 345600.',
    );
  }
  const mostBytes = Number(attributes.MaximumMessageSize);
  if (mostBytes < maxBodyBytes) {
    tell(
      'sqs.size',
      `MaximumMessageSize ${of} is ${mostBytes} bytes, and a job's message may have ${maxBodyBytes}: SQS would refuse larger ones.`,
      'Set it to 1048576.',
    );
  }
  return advice;
}

interface LookedFor {
  readonly name: string;
  readonly needs: QueueNeeds;
  readonly looked: LookedQueue | Error;
}

interface SqsFacts {
  /** All configured queues, each with its settings or the error of reading them. */
  queues(): Promise<readonly LookedFor[]>;
}

export function sqsDiagnosis(connection: Connection, { needsOf }: DiagnosisRequest): Check[] {
  const queues = onDemand(() =>
    Promise.all(
      connection.queues.all().map(async ({ name }): Promise<LookedFor> => {
        const looked = await lookAt(connection, name).catch(toError);
        return { name, needs: needsOf(name), looked };
      }),
    ),
  );
  return checksOf(sqsChecks, { queues });
}

/** The queues that could be read; sqs.queues reports the others. */
async function lookedIn({ queues }: SqsFacts): Promise<(LookedFor & { looked: LookedQueue })[]> {
  return (await queues()).flatMap((one) =>
    one.looked instanceof Error ? [] : [{ ...one, looked: one.looked }],
  );
}

const advised = (id: Advice['id']): Check<SqsFacts> =>
  check(id, 'warning', async (facts) => {
    const found = await lookedIn(facts);
    return found.flatMap(({ looked, needs }) => adviceOf(looked, needs).filter((one) => one.id === id));
  });

export const sqsChecks: readonly Check<SqsFacts>[] = [
  check('sqs.queues', 'error', async ({ queues }) => {
    return (await queues()).flatMap(({ name, looked }): Problem[] => {
      if (!(looked instanceof Error)) return [];
      const remedy =
        'Create it, or correct its URL, and grant sqs:GetQueueAttributes, which scaling by depth needs too.';
      return [{ where: `queue "${name}"`, text: looked.message, remedy }];
    });
  }),
  check('sqs.receives', 'error', async (facts) => {
    const found = await lookedIn(facts);
    return found.flatMap(({ looked, needs }) =>
      looked.lanes.map((lane) => receivesOf(lane, needs)).filter((problem) => problem !== null),
    );
  }),
  advised('sqs.visibility'),
  advised('sqs.redrive'),
  advised('sqs.retention'),
  advised('sqs.size'),
];
