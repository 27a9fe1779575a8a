import { expect, test } from 'vitest';
import type { DeadLetter } from '../../../core/contract/admin.ts';
import { getDeadLetter, pageOfDeadLetters } from '../../../core/kit/records/dead-letter-pages.ts';

const letterOf = (number: number): DeadLetter => ({
  id: `id-${String(number).padStart(5, '0')}`,
  queue: 'mail',
  job: 'mail.send',
  reason: 'exhausted',
  error: 'HANDLER: no',
  attempt: 1,
  // Of 40 each that died together no two pages know the order, unless they ask for all of them.
  diedAt: Math.floor(number / 40),
  body: '{}',
});

/** A broker that lists letters of one moment in no certain order. */
function broker(count: number) {
  const letters = Array.from({ length: count }, (_, i) => letterOf(i));
  const asked: number[] = [];
  return {
    letters,
    asked,
    async list({ max = 100 }: { max?: number }) {
      asked.push(max);
      return letters
        .toSorted((a, b) => b.diedAt - a.diedAt || ((asked.length + a.id.charCodeAt(7)) % 3) - 1)
        .slice(0, max);
    },
    retry: async () => 0,
    discard: async () => 0,
  };
}

test('pages made of longer and longer lists have every letter once', async () => {
  const deadLetters = broker(25_000);
  const ids: string[] = [];
  for (let after: string | undefined; ; ) {
    const { letters, next } = await pageOfDeadLetters(deadLetters, {
      max: 3_333,
      ...(after !== undefined && { after }),
    });
    ids.push(...letters.map(({ id }) => id));
    if (next === null) break;
    after = next;
  }
  expect(ids).toEqual(deadLetters.letters.map(({ id }) => id).reverse());
});

test('a broker is asked once where it lists no more than it looks through', async () => {
  const deadLetters = broker(10_000);
  const { letters } = await pageOfDeadLetters(deadLetters, { max: 100 });
  expect(letters).toHaveLength(100);
  expect(await getDeadLetter(deadLetters, 'id-00000')).toEqual(deadLetters.letters[0]);
  expect(await getDeadLetter(deadLetters, 'id-10000')).toBeNull();
  expect(deadLetters.asked).toHaveLength(3);
});

test('a letter behind many others is found by its id', async () => {
  const deadLetters = broker(25_000);
  expect(await getDeadLetter(deadLetters, 'id-00001')).toEqual(deadLetters.letters[1]);
});
