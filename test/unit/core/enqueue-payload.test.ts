/** What may travel in a payload, and how large an envelope may be. */

import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import { refused, sent } from './enqueue-kit.ts';
import { bench, job, refusal } from './kit.ts';

describe('the payload', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;

  it.each([
    ['a Date', new Date(0), 'PAYLOAD'],
    ['a Map inside', { lines: new Map() }, 'PAYLOAD'],
    ['a function', { callback: () => {} }, 'PAYLOAD'],
    ['NaN', { price: Number.NaN }, 'PAYLOAD'],
    ['a bigint', { id: 1n }, 'PAYLOAD'],
    ['the key __proto__', JSON.parse('{"__proto__":{}}'), 'PAYLOAD'],
    ['a cycle', cycle, 'LIMIT'],
  ])('%s is refused', async (_, payload, code) => {
    expect((await refused(job(), payload)).split(':')[0]).toBe(code);
  });

  it('with a cycle is refused before a recursive schema can follow it', async () => {
    type Tree = { children: Tree[] };
    const tree: v.GenericSchema<Tree> = v.object({ children: v.lazy(() => v.array(tree)) });
    const grow = defineJob({ name: 'grow', payload: tree, handle: () => {} }) as Job;
    const loop: Tree = { children: [] };
    loop.children.push(loop);
    expect((await refused(grow, loop)).split(':')[0]).toBe('LIMIT');
    expect((await sent(grow, { children: [{ children: [] }] })).payload).toEqual({
      children: [{ children: [] }],
    });
  });

  const strict = defineJob({
    name: 'strict',
    payload: z.object({ id: z.string(), lines: z.array(z.number()).default([]) }),
    handle: () => {},
  }) as Job;

  it('that does not fit the schema is refused with the paths that are wrong', async () => {
    expect(await refused(strict, { id: 1, lines: ['x'] })).toBe(
      'PAYLOAD: The payload does not fit the schema of job "strict": id: Invalid input: expected string, received number; lines.0: Invalid input: expected number, received string.',
    );
    expect(await refused(strict, null)).toMatch(/job "strict": payload: Invalid input/);
  });

  it('that is wrong in many places names five of them', async () => {
    const lines = Array.from({ length: 12 }, () => 'x');
    expect(await refused(strict, { id: 'a', lines })).toMatch(/lines\.4: [^;]+; and 7 more\.$/);
  });

  it('travels as it was given, not as the schema turned it', async () => {
    expect((await sent(strict, { id: 'a', extra: 1 })).payload).toEqual({ id: 'a', extra: 1 });
  });

  it('that is undefined arrives as undefined', async () => {
    const optional = defineJob({ name: 'opt', payload: z.object({}).optional(), handle: (x) => x ?? 'none' });
    const b = bench({ jobs: [optional] });
    await b.client.enqueue(optional, undefined);
    expect((await b.next()).outcome).toBe('acked');
    expect((await b.client.status('id-1'))?.output).toBe('none');
  });

  it('may be checked by a schema that takes its time', async () => {
    const slow = z.object({ id: z.string().refine(async (id) => id !== 'bad', 'is bad') });
    const one = defineJob({ name: 'slow', payload: slow, handle: () => {} }) as Job;
    expect((await sent(one, { id: 'good' })).payload).toEqual({ id: 'good' });
    expect(await refused(one, { id: 'bad' })).toMatch(/^PAYLOAD: .+ id: is bad\.$/);
  });
});

describe('the size', () => {
  const limit = 1_048_576;
  const sizeOf = async (payload: unknown) => Buffer.byteLength(JSON.stringify(await sent(job(), payload)));

  it('is counted in bytes of the whole envelope', async () => {
    const spare = limit - (await sizeOf(''));
    expect((await sent(job(), 'x'.repeat(spare))).payload).toHaveLength(spare);
    expect(await refused(job(), 'x'.repeat(spare + 1))).toBe(
      `LIMIT: Expected an envelope of at most ${limit} bytes, got ${limit + 1} for job "work". Store the data elsewhere and send its id.`,
    );
    expect(await refused(job(), 'é'.repeat(spare / 2 + 1))).toMatch(/^LIMIT: /);
  });

  it("is limited by the app too, at enqueue and at the worker's end", async () => {
    const small = bench({ jobs: [job()], maxBodyBytes: 1024 });
    const { code } = await refusal(() => small.client.enqueue(small.app.jobs.get('work')!, 'x'.repeat(1024)));
    expect(code).toBe('LIMIT');
    const large = bench({ jobs: [job()] });
    await large.client.enqueue(large.app.jobs.get('work')!, 'x'.repeat(1024));
    await small.put((await large.take()).lease.body);
    expect(await small.next()).toMatchObject({ outcome: 'rejected', error: { code: 'LIMIT' } });
  });
});
