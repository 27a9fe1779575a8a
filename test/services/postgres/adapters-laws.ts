/** What every adapter keeps, whatever library it is for. */

import { describe, expect, it } from 'vitest';
import type { SqlTransaction } from '../../../core/contract/queue.ts';
import { refusal } from '../../unit/core/kit.ts';
import { message } from '../sqlite/messages.ts';
import { plain, type Stage } from './transactions-kit.ts';

export interface InTransaction {
  readonly tx: SqlTransaction;
  /** A statement of the application's, with its library. */
  run(text: string): Promise<unknown>;
  /** With a savepoint, or null where the library has none. */
  readonly nested: ((work: (inner: InTransaction) => Promise<void>) => Promise<void>) | null;
}

export interface Library {
  transaction(work: (inside: InTransaction) => Promise<void>): Promise<void>;
  /** The adapter around what is no transaction. */
  outside(): SqlTransaction;
}

/** @param stage of the test file, which clears it after each test */
export function describeAdapter(name: string, stage: Stage, library: Library): void {
  describe(name, () => {
    it('enqueues at the commit, together with what the library writes', async () => {
      const { client, schema, counts } = await stage.bench();
      let id = '';
      await library.transaction(async ({ tx, run }) => {
        await run("INSERT INTO effects (name) VALUES ('order')");
        ({ id } = await client.enqueue(plain, { text: "O'Neil $1 \\ \u0000" }, { tx }));
        expect(await counts()).toEqual([0, 0, 0, 0]);
      });
      const [one] = await stage.rows(
        `SELECT e.xmin = j.xmin AS same FROM effects e, ${schema}.jobs j WHERE j.id = $1`,
        [id],
      );
      expect(one).toEqual({ same: true });
    });

    it('enqueues nothing when the transaction rolls back', async () => {
      const { client, counts } = await stage.bench();
      const work = library.transaction(async ({ tx }) => {
        await client.enqueue(plain, 1, { tx });
        throw new Error('changed my mind');
      });
      await expect(work).rejects.toThrow('changed my mind');
      expect(await counts()).toEqual([0, 0, 0, 0]);
    });

    it('tells copies from new ones, and takes many', async () => {
      const { client, backend, counts } = await stage.bench();
      await library.transaction(async ({ tx }) => {
        const results = await backend.enqueueIn!(
          tx,
          ['a', 'b', 'a'].map((id) => message({ id })),
        );
        expect(results.map((result) => result.ok && result.duplicate)).toEqual([false, false, true]);
        const many = Array.from({ length: 300 }, (_, n) => n);
        expect((await client.enqueueMany(plain, many, { tx })).every(({ ok }) => ok)).toBe(true);
      });
      expect(await counts()).toEqual([302, 0, 0, 0]);
    });

    it('refuses to enqueue outside a transaction', async () => {
      const { client, counts } = await stage.bench();
      for (let i = 0; i < 10; i++) {
        const { code, message: text } = await refusal(() =>
          client.enqueue(plain, i, { tx: library.outside() }),
        );
        expect(`${code}: ${text}`).toBe(
          'OPTION: Expected tx to be in a transaction, got one outside. Pass it between BEGIN and COMMIT.',
        );
      }
      expect(await counts()).toEqual([0, 0, 0, 0]);
    });

    it('says what is wrong in the words of the database, and not what the payload was', async () => {
      const { client, schema } = await stage.bench();
      await library.transaction(async ({ tx }) => void (await client.enqueue(plain, 0, { tx })));
      await stage.rows(`ALTER TABLE ${schema}.jobs ADD CONSTRAINT no CHECK (priority <> 8)`);
      const work = library.transaction(async ({ tx, run }) => {
        const first = await refusal(() => client.enqueue(plain, 'hush', { tx, priority: 8 }));
        expect(first.code).toBe('BACKEND');
        expect(first.message).toContain('violates check constraint "no"');
        expect(first.message).not.toContain('hush');
        const second = await refusal(() => client.enqueue(plain, 'hush', { tx }));
        expect(second.code).toBe('OPTION');
        expect(second.message).toContain('Roll the transaction back');
        await run('SELECT 1');
      });
      await expect(work).rejects.toThrow();
      await stage.rows(`ALTER TABLE ${schema}.jobs DROP CONSTRAINT no`);
    });
  });
}
