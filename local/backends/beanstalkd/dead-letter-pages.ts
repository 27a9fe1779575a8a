/**
 * Why jobs were buried. beanstalkd shows only the first buried job of a tube, so this is also the list of them: pages of 50, each
 * under a key of its own, the last one open. An entry whose job the server does not call buried is not listed.
 */

import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { BeanstalkdState } from './state.ts';

/** Stored as it is: the names of its members must stay. */
export interface DeadLetterEntry {
  readonly jobId: number;
  /** Of its body. */
  readonly mark: string;
  readonly id: string;
  readonly job: string;
  readonly reason: AbandonReason;
  readonly error: string;
  readonly attempt: number;
  readonly diedAt: number;
}

/** Stored as it is: the names of its members must stay. */
interface Page {
  /** How many full pages there are before this one. */
  readonly number: number;
  /** Oldest first. */
  readonly letters: readonly DeadLetterEntry[];
}

const perPage = 50;
/** So that a page stays small. */
const longestError = 1_000;

const openPage = ({ scope }: BeanstalkdState, tube: string): string => `${scope}/dead/${tube}`;
const fullPage = (state: BeanstalkdState, tube: string, number: number): string =>
  `${openPage(state, tube)}/${number}`;

export async function addDeadLetter(
  state: BeanstalkdState,
  tube: string,
  entry: DeadLetterEntry,
): Promise<void> {
  const added = { ...entry, error: entry.error.slice(0, longestError) };
  let full: Page | null = null;
  await state.metadata.update<Page>(openPage(state, tube), (page) => {
    const { number, letters } = page ?? { number: 0, letters: [] };
    const others = letters.filter(({ jobId }) => jobId !== entry.jobId);
    if (others.length < perPage) return { number, letters: [...others, added] };
    full = { number, letters: others };
    return { number: number + 1, letters: [added] };
  });
  // A process that is killed here loses 50 reasons: the jobs are still buried, and the first of them is shown.
  if (full !== null) {
    const page: Page = full;
    await state.metadata.update<Page>(fullPage(state, tube, page.number), () => page);
  }
}

/** The pages that are still kept with their keys, newest first. */
async function* pagesOf(state: BeanstalkdState, tube: string): AsyncGenerator<[key: string, page: Page]> {
  let key = openPage(state, tube);
  let page = await state.metadata.read<Page>(key);
  for (let number = page?.number ?? 0; page; page = await state.metadata.read<Page>(key)) {
    yield [key, page];
    if (--number < 0) return;
    key = fullPage(state, tube, number);
  }
}

/** Newest first, a page at a time. */
export async function* deadLettersOf(
  state: BeanstalkdState,
  tube: string,
): AsyncGenerator<readonly DeadLetterEntry[]> {
  for await (const [, { letters }] of pagesOf(state, tube)) yield letters.toReversed();
}

export async function removeDeadLetters(
  state: BeanstalkdState,
  tube: string,
  gone: ReadonlySet<number>,
): Promise<void> {
  for await (const [key, { letters }] of pagesOf(state, tube)) {
    if (!letters.some(({ jobId }) => gone.has(jobId))) continue;
    await state.metadata.update<Page>(
      key,
      (page) => page && { ...page, letters: page.letters.filter(({ jobId }) => !gone.has(jobId)) },
    );
  }
}
