/** Schemas of zod that no JSON can fit, and those that look like it. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import * as mini from 'zod/mini';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import type { StandardSchema } from '../../../core/kernel/app/schema.ts';
import { unsendable } from '../../../core/kernel/app/unsendable.ts';
import { bench, refusalText } from './kit.ts';

const jobOf = (payload: z.core.$ZodType): Job =>
  defineJob({ name: 'work', payload: payload as unknown as StandardSchema, handle: () => {} });

const use = 'which JSON cannot carry. Use';

describe('a schema that no JSON can fit', () => {
  it.each([
    ['a date', z.date(), `payload is z.date(), ${use} z.iso.datetime(), or z.coerce.date()`],
    ['a date inside', z.object({ a: z.string(), b: z.object({ at: z.date() }) }), 'payload.b.at is z.date()'],
    ['a date of zod/mini', mini.object({ at: mini.date() }), 'payload.at is z.date()'],
    ['a transformed date', z.object({ at: z.date().transform(String) }), 'payload.at is z.date()'],
    ['a date with bounds', z.object({ at: z.date().min(new Date(0)).readonly() }), 'payload.at is z.date()'],
    ['a date in a tuple', z.tuple([z.string(), z.date()]), 'payload[1] is z.date()'],
    ['an intersection', z.intersection(z.object({}), z.object({ n: z.bigint() })), 'payload.n is z.bigint()'],
    ['a map or a set', z.union([z.map(z.string(), z.string()), z.set(z.string())]), 'payload is z.map()'],
    ['a set', z.object({ tags: z.set(z.string()) }), `payload.tags is z.set(), ${use} z.array().`],
  ])('%s', (_, schema, expected) => {
    const text = unsendable(jobOf(schema));
    expect(text).toMatch(/^Job "work" can never run: /);
    expect(text).toContain(expected);
  });
});

interface Tree {
  readonly next: Tree | null;
}
const tree: z.ZodType<Tree, Tree> = z.object({
  get next() {
    return z.union([tree, z.null()]);
  },
});

describe('a schema that some JSON fits', () => {
  const day = z.iso.datetime();
  it.each([
    ['a coerced date', z.object({ at: z.coerce.date() }), { at: '2026-01-15' }],
    ['a coerced bigint', z.object({ n: z.coerce.bigint() }), { n: '7' }],
    ['a transform to a date', z.object({ at: day.transform((text) => new Date(text)).pipe(z.date()) }), null],
    [
      'a preprocessed date',
      z.object({ at: z.preprocess((x) => new Date(String(x)), z.date()) }),
      { at: '2026' },
    ],
    [
      'a codec',
      z.codec(day, z.date(), { decode: (text) => new Date(text), encode: (at) => at.toISOString() }),
      '2026-01-15T12:00:00Z',
    ],
    ['an optional date', z.object({ at: z.date().optional() }), {}],
    ['a nullable date', z.object({ at: z.date().nullable() }), { at: null }],
    ['a date with a default', z.object({ at: z.date().default(new Date(0)) }), {}],
    ['a date that is caught', z.object({ at: z.date().catch(new Date(0)) }), { at: 'x' }],
    ['a text or a date', z.object({ at: z.union([z.string(), z.date()]) }), { at: 'x' }],
    ['a list of dates', z.array(z.date()), []],
    ['one that refers to itself', tree, { next: { next: null } }],
  ])('%s', async (_, schema, payload) => {
    const work = jobOf(schema);
    expect(unsendable(work)).toBeNull();
    if (payload === null) return;
    const b = bench({ jobs: [work] });
    expect((await b.once(work, payload)).outcome).toBe('acked');
  });

  it('may refer to one that is not made yet', () => {
    const early = jobOf(
      z.object({
        get later() {
          return later;
        },
      }),
    );
    expect(unsendable(early)).toBeNull();
    const later = z.date();
    expect(unsendable(early)).toContain('payload.later is z.date()');
  });

  it('may be one of another library', () => {
    const schema = { '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) } } as const;
    expect(unsendable(defineJob({ name: 'work', payload: schema, handle: () => {} }))).toBeNull();
  });
});

describe('enqueue', () => {
  it.each([['2026-01-15T12:00:00Z'], [new Date(0)]])('says it with the refusal of %o', async (at) => {
    const work = jobOf(z.object({ at: z.date() }));
    const b = bench({ jobs: [work] });
    expect(await refusalText(() => b.client.enqueue(work, { at }))).toMatch(
      /^PAYLOAD: .+ Job "work" can never run: payload\.at is z\.date\(\), .+ z\.coerce\.date\(\)/,
    );
    const [result] = await b.client.enqueueMany(work, [{ at }]);
    expect(result).toMatchObject({ ok: false, error: { code: 'PAYLOAD' } });
  });

  it('says it where the schema is asynchronous, and keeps the issues', async () => {
    const work = jobOf(z.object({ at: z.date(), b: z.string().refine(async () => true) }));
    const b = bench({ jobs: [work] });
    const error = await b.client.enqueue(work, { at: 'x', b: 'x' }).catch((cause) => cause);
    expect(error.message).toContain('can never run');
    expect(error.issues).toMatchObject([{ path: 'at' }]);
  });
});
