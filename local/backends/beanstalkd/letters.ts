/**
 * Why jobs were buried. beanstalkd lists none but the first one buried, so the book of a tube also says which there are: pages of
 * 50 letters, the last one open, each under a key of its own. What the server no longer calls buried is not listed.
 */

import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { BeanstalkdState } from './index.ts';

export interface Letter {
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

interface Page {
  /** How many full pages there are before this one. */
  readonly number: number;
  /** Oldest first. */
  readonly letters: readonly Letter[];
}

const perPage = 50;
/** So that a page stays small. */
const longestError = 1_000;

const openPage = ({ scope }: BeanstalkdState, tube: string): string => `${scope}/dead/${tube}`;
const fullPage = (state: BeanstalkdState, tube: string, number: number): string =>
  `${openPage(state, tube)}/${number}`;

export async function addLetter(state: BeanstalkdState, tube: string, letter: Letter): Promise<void> {
  const entry = { ...letter, error: letter.error.slice(0, longestError) };
  const key = openPage(state, tube);
  let full: Page | null = null;
  await state.notes.update<Page>(key, (page) => {
    const { number, letters } = page ?? { number: 0, letters: [] };
    const others = letters.filter(({ jobId }) => jobId !== letter.jobId);
    if (others.length < perPage) return { number, letters: [...others, entry] };
    full = { number, letters: others };
    return { number: number + 1, letters: [entry] };
  });
  // A process that is killed here has forgotten 50 reasons: the jobs are still buried, and the first of them shows.
  if (full !== null) {
    const page: Page = full;
    await state.notes.update<Page>(fullPage(state, tube, page.number), () => page);
  }
}

/** Newest first, page by page: whoever has enough stops. */
export async function* lettersOf(state: BeanstalkdState, tube: string): AsyncGenerator<readonly Letter[]> {
  const open = await state.notes.read<Page>(openPage(state, tube));
  if (!open) return;
  yield open.letters.toReversed();
  for (let number = open.number - 1; number >= 0; number--) {
    const page = await state.notes.read<Page>(fullPage(state, tube, number));
    if (!page) return; // as old as what is kept, and so is what is before it
    yield page.letters.toReversed();
  }
}

export async function removeLetters(
  state: BeanstalkdState,
  tube: string,
  gone: ReadonlySet<number>,
): Promise<void> {
  const open = await state.notes.read<Page>(openPage(state, tube));
  if (!open) return;
  const without = (page: Page | null): Page | null =>
    page && { ...page, letters: page.letters.filter(({ jobId }) => !gone.has(jobId)) };
  await state.notes.update<Page>(openPage(state, tube), without);
  for (let number = open.number - 1; number >= 0; number--) {
    const key = fullPage(state, tube, number);
    const page = await state.notes.read<Page>(key);
    if (!page) return;
    if (page.letters.some(({ jobId }) => gone.has(jobId))) await state.notes.update<Page>(key, without);
  }
}
