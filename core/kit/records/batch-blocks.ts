/**
 * Where a table of texts keeps the marks of a batch: 4,096 children per text. Children that are sent one after the other run at the same
 * time, so each run of sixteen goes to another text than the next: workers seldom write the same text.
 */

import { isSet, type Marks, noMarks } from './batch-rules.ts';

const stripes = 16;
const run = 16;
const row = stripes * run;
export const blockSize = 4_096;
/** Children of the sixteen blocks that take turns. */
const groupSize = blockSize * stripes;

export interface MarkAt {
  readonly block: number;
  readonly at: number;
}

export function markOf(number: number): MarkAt {
  const group = Math.floor(number / groupSize);
  const within = number % groupSize;
  const stripe = Math.floor(within / run) % stripes;
  return { block: group * stripes + stripe, at: Math.floor(within / row) * run + (within % run) };
}

function numberAt({ block, at }: MarkAt): number {
  const group = Math.floor(block / stripes);
  return group * groupSize + Math.floor(at / run) * row + (block % stripes) * run + (at % run);
}

/** How many of the first `count` children a block has. */
export function shareOf(block: number, count: number): number {
  const group = Math.floor(block / stripes);
  const rest = Math.min(groupSize, Math.max(0, count - group * groupSize));
  const last = (rest % row) - (block % stripes) * run;
  return Math.floor(rest / row) * run + Math.min(run, Math.max(0, last));
}

/** The blocks of the first `count` children. */
export function blocksOf(count: number): number[] {
  const most = Math.ceil(count / groupSize) * stripes;
  return Array.from({ length: most }, (_, block) => block).filter((block) => shareOf(block, count) > 0);
}

/** The blocks in groups, from the group of this child on. The children of a group have consecutive numbers. */
export function groupsFrom(number: number, count: number): number[][] {
  const first = Math.floor(number / groupSize);
  const groups = Map.groupBy(blocksOf(count), (block) => Math.floor(block / stripes));
  return [...groups].filter(([group]) => group >= first).map(([, blocks]) => blocks);
}

/** The numbers of the children in these blocks that match, in order, within the range. */
export function numbersIn(
  blocks: readonly (readonly [block: number, marks: Marks])[],
  range: { readonly from: number; readonly count: number },
  holds: (marks: Marks, at: number) => boolean,
): number[] {
  const numbers: number[] = [];
  for (const [block, marks] of blocks)
    for (let at = 0; at < shareOf(block, range.count); at++) {
      const number = numberAt({ block, at });
      if (number >= range.from && holds(marks, at)) numbers.push(number);
    }
  return numbers.sort((a, b) => a - b);
}

export const hasFailed = ({ failed }: Marks, at: number): boolean => isSet(failed, at);
export const hasNotEnded = ({ ended }: Marks, at: number): boolean => !isSet(ended, at);

interface StoredMarks {
  readonly ended: string;
  readonly failed: string;
  readonly at: number;
}

export const marksIn = (text: string | undefined): Marks & { readonly at: number } => {
  if (text === undefined) return { ...noMarks(blockSize), at: 0 };
  const { ended, failed, at } = JSON.parse(text) as StoredMarks;
  return { ended: Buffer.from(ended, 'base64'), failed: Buffer.from(failed, 'base64'), at };
};

export const textOfMarks = ({ ended, failed }: Marks, at: number): string =>
  JSON.stringify({
    ended: Buffer.from(ended).toString('base64'),
    failed: Buffer.from(failed).toString('base64'),
    at,
  } satisfies StoredMarks);
