/** SQS accepts ten entries and 1 MiB per request, and answers per entry. */

import { forEach } from '../../../core/kit/parallel.ts';

/** One entry of a batch that failed, as SQS reports it. */
export interface EntryFailure {
  readonly Id?: string | undefined;
  readonly Code?: string | undefined;
  readonly Message?: string | undefined;
  /** `true` = the request was wrong and would fail again; otherwise SQS had a fault. */
  readonly SenderFault?: boolean | undefined;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly senderFault: boolean;
  /** The whole request failed with this. */
  readonly cause?: unknown;
}

/** An entry for SQS: `Id` identifies it within its request. */
export type Numbered<Entry> = Entry & { readonly Id: string };

export interface BatchRules<T, Entry> {
  /** The size of an entry in its request. @default 0 */
  readonly bytesOf?: (item: T) => number;
  /** Sends one request after the other, and nothing twice: for queues with order. @default false */
  readonly inOrder?: boolean;
  readonly entryOf: (item: T) => Entry;
  readonly request: (entries: readonly Numbered<Entry>[]) => Promise<EntryFailure[]>;
}

export const largestRequest = 1_048_576;
export const mostEntries = 10;
const mostRequestsAtOnce = 16;
/** How often an entry is sent that fails because of SQS. */
const mostTries = 3;

/**
 * Sends all items in as few requests as they fit in. One answer per item, in order: `null` = done.
 * Rejects when every request failed as a whole.
 */
export async function inBatches<T, Entry>(
  items: readonly T[],
  rules: BatchRules<T, Entry>,
): Promise<(Failure | null)[]> {
  const answers: (Failure | null)[] = new Array(items.length).fill(null);
  let open = [...items.keys()];
  for (let tries = 1; open.length > 0 && tries <= mostTries; tries++) {
    const requests = split(open, (i) => rules.bytesOf?.(items[i]!) ?? 0);
    const atOnce = rules.inOrder ? 1 : mostRequestsAtOnce;
    await forEach(requests, (indexes) => sendOne(items, indexes, rules, answers), atOnce);
    if (rules.inOrder) break;
    open = open.filter((i) => answers[i] && !answers[i].senderFault && answers[i].cause === undefined);
  }
  return thrownByAll(answers);
}

/** Throws when all answers are failures of whole requests. */
export function thrownByAll(answers: (Failure | null)[]): (Failure | null)[] {
  const causes = answers.map((answer) => answer?.cause);
  if (causes.length > 0 && causes.every((cause) => cause !== undefined)) throw causes[0];
  return answers;
}

export const failedBy = (cause: unknown): Failure => {
  return { code: 'RequestFailed', message: String(cause), senderFault: false, cause };
};

async function sendOne<T, Entry>(
  items: readonly T[],
  indexes: readonly number[],
  { entryOf, request }: BatchRules<T, Entry>,
  answers: (Failure | null)[],
): Promise<void> {
  for (const i of indexes) answers[i] = null;
  try {
    const failed = await request(indexes.map((i) => ({ Id: String(i), ...entryOf(items[i]!) })));
    for (const { Id, Code = 'Unknown', Message = 'no reason given', SenderFault = false } of failed) {
      answers[Number(Id)] = { code: Code, message: Message, senderFault: SenderFault };
    }
  } catch (cause) {
    for (const i of indexes) answers[i] = failedBy(cause);
  }
}

function split(indexes: readonly number[], bytesOf: (index: number) => number): number[][] {
  const requests: number[][] = [];
  let bytes = 0;
  for (const i of indexes) {
    const own = bytesOf(i);
    const last = requests.at(-1);
    if (last && last.length < mostEntries && bytes + own <= largestRequest) {
      last.push(i);
      bytes += own;
    } else {
      requests.push([i]);
      bytes = own;
    }
  }
  return requests;
}
