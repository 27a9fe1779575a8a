/** The table of features: what they add to clients and handlers is what the types of both say. */

import { describe, expect, expectTypeOf, it } from 'vitest';
import { features as table } from '../../../core/features/table.ts';
import type { TransactionContext } from '../../../core/kernel/app/job.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { bench, job } from './kit.ts';

const features = Object.values(table);
type Every = (typeof features)[number];
type OwnOfClient =
  | ('app' | 'backend' | 'stores' | 'name' | 'backends' | 'close')
  | ('enqueue' | 'enqueueMany' | 'status' | 'result' | 'watch' | 'cancel' | 'update' | 'promote' | 'remove');
type OwnOfContext =
  | ('id' | 'job' | 'queue' | 'attempt' | 'maxAttempts' | 'previouslyCrashed' | 'idempotencyKey' | 'context')
  | ('deadlineAt' | 'signal' | 'progress' | 'log' | 'rateLimited' | 'enqueue');

type KeysOf<T> = T extends unknown ? keyof T : never;
type DoorsOfClient = Every extends infer One
  ? One extends { client(client: Client): infer Doors }
    ? KeysOf<Doors>
    : never
  : never;
type DoorsOfContext = Every extends infer One
  ? One extends { context: infer Doors }
    ? KeysOf<Doors>
    : never
  : never;

describe('the table of features', () => {
  it('adds to clients and contexts all that their types say, beside what the kernel has', () => {
    expectTypeOf<DoorsOfClient>().toEqualTypeOf<Exclude<keyof Client, OwnOfClient>>();
    expectTypeOf<DoorsOfContext>().toEqualTypeOf<Exclude<keyof TransactionContext, OwnOfContext>>();
  });

  it('names no member of a client or context twice', () => {
    const { client } = bench({});
    const members = features.flatMap((one) => [
      ...('client' in one ? Object.keys(one.client(client)) : []).map((name) => `client.${name}`),
      ...('context' in one ? Object.keys(one.context) : []).map((name) => `ctx.${name}`),
    ]);
    expect(new Set(members).size).toBe(members.length);
  });

  it('gives a handler what features add, also where it takes its context apart', async () => {
    let seen: string[] = [];
    const work = job({
      handle(_, { step, sleep, waitFor, emit, batch, waitForBatch, chain }) {
        seen = [step, sleep, waitFor, emit, batch, waitForBatch, chain].map((member) => typeof member);
      },
    });
    const b = bench({ jobs: [work] });
    await b.client.enqueue(work, {});
    await b.run(await b.take());
    expect(seen).toEqual(Array(7).fill('function'));
  });
});
