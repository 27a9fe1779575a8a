/** What is kept and compared is refused alike where it was cut through a character, or has U+0000: stores would take two of them for one. */

import { describe, expect, it } from 'vitest';
import { bench, job, refusalText } from './kit.ts';

const half = 'orders👍'.slice(0, 7);
const cut = `of whole characters, got "orders\\ud83d": half of one. Cut texts with [...text].slice(0, n).join('')`;
const nul = 'without U+0000, got "a\\u0000"';

const work = job();
const byKey = (parts: object) => job({ name: 'other', ...parts });
const ofPayload = {
  'an idempotency key': byKey({ idempotencyKey: (text: string) => text }),
  'a unique key for job "other"': byKey({ unique: { key: (text: string) => text, during: 'waiting' } }),
  'the key of rate of job:other to be null or a text': byKey({
    rate: { limit: 1, perMs: 1_000, key: (text: string) => text },
  }),
};
const options: Readonly<Record<string, (text: string) => object>> = {
  'an idempotency key': (idempotencyKey) => ({ idempotencyKey }),
  'a group': (group) => ({ group }),
  'a name': (name) => ({ name }),
  'a unique key for job "work"': (key) => ({ unique: { key, during: 'waiting' } }),
  ...Object.fromEntries(
    ['tenantId', 'actorId', 'requestId', 'traceparent'].map((name) => [
      `context.${name} to be a text`,
      (text: string) => ({ context: { [name]: text } }),
    ]),
  ),
};
const texts = [
  [half, cut],
  ['a\0', nul],
] as const;

describe('a text that is half a character, or has U+0000', () => {
  const calls = Object.entries(options).flatMap(([what, make]) =>
    texts.map((text) => [what, make, ...text] as const),
  );
  it.each(calls)('is refused as %s', async (what, make, text, fault) => {
    const { client } = bench({ jobs: [work] });
    const refused = await refusalText(() => client.enqueue(work, {}, make(text)));
    expect(refused).toBe(`OPTION: Expected ${what} ${fault}.`);
  });

  it.each(Object.entries(ofPayload))(
    'is refused as %s that the job makes of its payload',
    async (what, other) => {
      for (const [text, fault] of texts) {
        const { client } = bench({ jobs: [other] });
        const refused = await refusalText(() => client.enqueue(other, text));
        expect(refused.replace(/^[A-Z]+: /, '')).toBe(`Expected ${what} ${fault}.`);
      }
    },
  );

  it('is refused as the name of a batch or of a link, and as the key of an event', async () => {
    const { client } = bench({ jobs: [work] });
    for (const [text, fault] of texts) {
      const called = [
        () => client.batch(text, [1], { job: work }),
        () => client.chain([{ job: work, options: { name: text } }], 1),
        () => client.emit('packed', null, { key: text }),
      ];
      for (const call of called) expect(await refusalText(call)).toContain(fault);
    }
  });

  it('is taken where it is whole', async () => {
    const { client } = bench({ jobs: [work] });
    for (const make of Object.values(options)) await client.enqueue(work, {}, make('orders👍'));
  });
});
