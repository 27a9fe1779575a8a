/** What jobs and calls may say of unique and debounce. */

import { describe, expect, it } from 'vitest';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { bench, job, refusalText } from './kit.ts';

const key = () => 'k';
type Parts = Parameters<typeof job>[0];

describe('defineJob', () => {
  const wrong: readonly [what: string, parts: object, message: string][] = [
    [
      'unique and debounce together',
      { unique: { key, during: 'waiting' }, debounce: { key, waitMs: 1 } },
      'Expected no debounce for unique of job "work", got an object.',
    ],
    [
      'a key that is no function',
      { unique: { key: 'k', during: 'waiting' } },
      'Expected a function as key for unique of job "work", got "k".',
    ],
    [
      'a time that there is not',
      { unique: { key, during: 'pending' } },
      'Expected during waiting, running, either or { forMs: 1 or more } for unique of job "work", got "pending".',
    ],
    [
      'an option by its former name',
      { unique: { key, while: 'pending' } },
      'Option while of unique of job "work" is called during now.',
    ],
    [
      'no time at all',
      { unique: { key } },
      'Expected during waiting, running, either or { forMs: 1 or more } for unique of job "work", got undefined.',
    ],
    [
      'a time of nothing',
      { unique: { key, during: { forMs: 0 } } },
      'Expected during waiting, running, either or { forMs: 1 or more } for unique of job "work", got an object.',
    ],
    [
      'a conflict that ends in another way',
      { unique: { key, during: 'waiting', onConflict: 'cancel' } },
      'Expected onConflict skip or replace for unique of job "work", got "cancel".',
    ],
    [
      'a typing error',
      { unique: { key, during: 'waiting', onconflict: 'skip' } },
      'Unknown option "onconflict" of unique of job "work", only key, during, onConflict. Did you mean "onConflict"?',
    ],
    [
      'debounce without a wait',
      { debounce: { key } },
      'Expected waitMs, and maxWaitMs no shorter for debounce of job "work", got 0.',
    ],
    [
      'a longest wait that is shorter than the wait',
      { debounce: { key, waitMs: 10, maxWaitMs: 9 } },
      'Expected waitMs, and maxWaitMs no shorter for debounce of job "work", got 10.',
    ],
    [
      'a wait that is no number',
      { debounce: { key, waitMs: '10' } },
      'Expected waitMs of debounce of job "work" to be an integer of 1 or more, got "10".',
    ],
  ];
  it.each(wrong)('refuses %s', async (_, parts, message) => {
    expect(await refusalText(() => job(parts as Parts))).toBe(`CONFIG: ${message}`);
  });
});

describe('enqueue()', () => {
  const work = job();
  const wrong: readonly [what: string, options: object, message: string][] = [
    [
      'unique and debounce together',
      { unique: { key: 'k', during: 'waiting' }, debounce: { key: 'k', waitMs: 1 } },
      'Expected no debounce for unique of enqueue(), got an object.',
    ],
    [
      'an option by its former name',
      { unique: { key: 'k', while: 'pending' } },
      'Option while of unique of enqueue() is called during now.',
    ],
    [
      'a key that is a function',
      { unique: { key, during: 'waiting' } },
      'Expected a string as key for unique of enqueue(), got a function.',
    ],
    [
      'an empty key',
      { unique: { key: '', during: 'waiting' } },
      'Expected a unique key for job "work" of 1 to 256 characters, got "".',
    ],
    [
      'a key with half a character',
      { unique: { key: '\ud800', during: 'waiting' } },
      `Expected a unique key for job "work" of whole characters, got "\\ud800": half of one. Cut texts with [...text].slice(0, n).join('').`,
    ],
    [
      'a key that is too long',
      { debounce: { key: 'k'.repeat(257), waitMs: 1 } },
      `Expected a unique key for job "work" of 1 to 256 characters, got "${'k'.repeat(57)}...".`,
    ],
    [
      'a delay beside debounce',
      { debounce: { key: 'k', waitMs: 1 }, delayMs: 5 },
      'Expected neither delayMs nor runAt for job "work": its debounce says when it runs.',
    ],
    [
      'a transaction',
      { unique: { key: 'k', during: 'waiting' }, tx: { query: async () => ({ rows: [] }) } },
      'A unique or debounced job cannot be enqueued with tx: its key is not part of your transaction, so a rollback would leave a key without a job. Enqueue it after the commit, or from a job that you enqueue in the transaction.',
    ],
  ];
  it.each(wrong)('refuses %s', async (_, options, message) => {
    const b = bench({ jobs: [work] });
    const refusal = await refusalText(() => b.client.enqueue(work, {}, options as EnqueueOptions));
    expect(refusal).toBe(`OPTION: ${message}`);
    expect(await b.backend.admin!.stats()).toEqual([]);
  });

  it('takes keys of 256 characters', async () => {
    const b = bench({ jobs: [work] });
    const unique = { key: '€'.repeat(256), during: 'waiting' } as const;
    expect(await b.client.enqueue(work, {}, { unique })).not.toHaveProperty('duplicate');
    expect(await b.client.enqueue(work, {}, { unique })).toMatchObject({ duplicate: true });
  });

  it.each([
    [() => 7, 'Expected a unique key for job "work" of 1 to 256 characters, got 7.'],
    [
      () => 'k'.repeat(300),
      `Expected a unique key for job "work" of 1 to 256 characters, got "${'k'.repeat(57)}...".`,
    ],
    [
      () => {
        throw new Error('no such customer');
      },
      'The unique key() of job "work" threw: no such customer',
    ],
  ])("refuses a payload of which the job's function makes no key", async (wrongKey, message) => {
    const one = job({ unique: { key: wrongKey as never, during: 'waiting' } });
    const b = bench({ jobs: [one] });
    expect(await refusalText(() => b.client.enqueue(one, {}))).toBe(`PAYLOAD: ${message}`);
    expect(await b.backend.admin!.stats()).toEqual([]);
  });

  it('says what the backend lacks for it, and what to do', async () => {
    const b = bench({ jobs: [work] });
    const { pending: _, ...backend } = memory();
    const client = connect(b.app, backend);
    const refusalOf = (options: EnqueueOptions) => refusalText(() => client.enqueue(work, {}, options));
    const text = `CONFIG: Job "work" replaces a waiting job, which backend "memory" cannot do. Use unique with onConflict: 'skip', or a backend that can: docs/backends.md.`;
    expect(await refusalOf({ unique: { key: 'k', during: 'waiting', onConflict: 'replace' } })).toBe(text);
    expect(await refusalOf({ debounce: { key: 'k', waitMs: 5 } })).toBe(text);
    for (const parts of [
      { unique: { key: () => 'k', during: 'waiting', onConflict: 'replace' } as const },
      { debounce: { key: () => 'k', waitMs: 5 } },
    ])
      expect(await refusalText(() => connect(bench({ jobs: [job(parts)] }).app, backend))).toBe(text);
    expect(await backend.admin!.stats()).toEqual([]);
  });

  it('needs records, unless it is unique for a time', async () => {
    const b = bench({ jobs: [work] });
    const { stores } = b.client;
    const store = { records: { ...stores.records, recordsDisabled: true as const, get: async () => null } };
    const client = connect(b.app, b.backend, { store });
    const refusal = await refusalText(() =>
      client.enqueue(work, {}, { unique: { key: 'k', during: 'waiting' } }),
    );
    expect(refusal).toBe(
      `CONFIG: Backend "memory" keeps no records, so it cannot tell whether a job with the unique key of "work" waits or runs: give it a store, for example sqliteStore(), or use during: { forMs }.`,
    );
    const pending = bench({ jobs: [job({ unique: { key: () => 'k', during: 'waiting' } })] });
    expect(await refusalText(() => connect(pending.app, b.backend, { store }))).toBe(refusal);
    const forMs = { unique: { key: 'k', during: { forMs: 5 } } };
    const { id } = await client.enqueue(work, {}, forMs);
    expect(await client.enqueue(work, {}, forMs)).toEqual({ id, queue: 'default', duplicate: true });
  });
});
