import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { JobLease, JobTransaction } from '../../../core/contract/queue.ts';
import { until } from '../../kit/until.ts';
import { refusal } from '../../unit/core/kit.ts';
import { message } from '../sqlite/messages.ts';
import { type Bench, createStage } from './transactions-kit.ts';

const stage = await createStage();
afterEach(() => stage.clear());
afterAll(() => stage.drop());

/** A leased job and a transaction for it, in which a row has been written. */
async function begun(): Promise<{ bench: Bench; lease: JobLease; tx: JobTransaction }> {
  const bench = await stage.bench();
  await bench.backend.enqueue([message({ id: 'm' })]);
  const request = { queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 };
  const [lease] = await bench.backend.fetch(request);
  const tx = await bench.backend.begin!();
  await tx.sql.query("INSERT INTO effects (name) VALUES ('written')");
  return { bench, lease: lease!, tx };
}

/** Nothing of it is left: the lease can still be settled, and the connection is no more or at rest. */
async function expectUndone(bench: Bench, lease: JobLease): Promise<void> {
  expect(await stage.effects()).toEqual([]);
  expect(await bench.counts()).toEqual([0, 0, 1, 0]);
  // What cancels a statement that was left alone takes a connection for a moment.
  await until(() => bench.pool.idleCount === bench.pool.totalCount);
  expect(await bench.backend.nack(lease, { delayMs: 0, countAttempt: true })).toBe(true);
  expect(await bench.counts()).toEqual([1, 0, 0, 0]);
}

describe('a commit', () => {
  it('is refused when a statement has failed, though the handler took no notice', async () => {
    const { bench, lease, tx } = await begun();
    await expect(tx.sql.query('SELECT 1 / 0')).rejects.toThrow('division by zero');
    const { code, message: text } = await refusal(() => tx.ack({ lease }));
    expect(code).toBe('HANDLER');
    expect(text).toContain("The handler's transaction was rolled back: current transaction is aborted");
    await expectUndone(bench, lease);
  });

  it('is refused when what was written breaks a rule that is checked at the end', async () => {
    await stage.rows('CREATE TABLE once (name text UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    const { bench, lease, tx } = await begun();
    for (let i = 0; i < 2; i++) await tx.sql.query("INSERT INTO once VALUES ('same')");
    const { code, message: text } = await refusal(() => tx.ack({ lease }));
    expect(code).toBe('HANDLER');
    expect(text).toContain('duplicate key value violates unique constraint "once_name_key"');
    await expectUndone(bench, lease);
    await stage.rows('DROP TABLE once');
  });

  it('is refused when another transaction was first', async () => {
    const { bench, lease, tx } = await begun();
    await tx.rollback();
    const later = await bench.backend.begin!();
    await later.sql.query('SET TRANSACTION ISOLATION LEVEL SERIALIZABLE');
    const other = await stage.client();
    await other.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
    for (const one of [later.sql, other]) {
      await one.query('SELECT count(*) FROM effects');
      await one.query("INSERT INTO effects (name) VALUES ('each saw none')");
    }
    await other.query('COMMIT');
    expect((await refusal(() => later.ack({ lease }))).code).toBe('HANDLER');
    await stage.rows('DELETE FROM effects');
    await expectUndone(bench, lease);
  });

  it('is refused when the handler has ended the transaction behind its back', async () => {
    const { bench, lease, tx } = await begun();
    await tx.sql.query('SELECT 1; ROLLBACK');
    const { code, message: text } = await refusal(() => tx.ack({ lease }));
    expect(code).toBe('HANDLER');
    expect(text).toContain('the handler has ended it by itself');
    await expectUndone(bench, lease);
  });

  it('is not known to have happened when the connection is lost', async () => {
    const { bench, lease, tx } = await begun();
    const { rows } = await tx.sql.query('SELECT pg_backend_pid() AS pid');
    await stage.rows('SELECT pg_terminate_backend($1)', [(rows[0] as { pid: number }).pid]);
    expect((await refusal(() => tx.ack({ lease }))).code).toBe('BACKEND');
    await expectUndone(bench, lease);
  });

  it('cannot be undone by what the handler sends meanwhile', async () => {
    const { bench, lease, tx } = await begun();
    const acked = tx.ack({ lease });
    const late: Promise<unknown>[] = [];
    let ended = false;
    void acked.finally(() => {
      ended = true;
    });
    while (!ended) {
      late.push(tx.sql.query('SELECT 1 / 0').catch((error: unknown) => error));
      await new Promise(setImmediate);
    }
    expect(await acked).toBe(true);
    expect(late.length).toBeGreaterThan(1);
    for (const error of await Promise.all(late)) expect(error).toMatchObject({ code: 'LEASE_LOST' });
    expect(await stage.effects()).toEqual(['written']);
    expect(await bench.counts()).toEqual([0, 0, 0, 0]);
  });

  it('does not take place for a lease that was lost', async () => {
    const { bench, lease, tx } = await begun();
    expect(await bench.backend.nack(lease, { delayMs: 0, countAttempt: true })).toBe(true);
    expect(await tx.ack({ lease })).toBe(false);
    expect(await stage.effects()).toEqual([]);
    expect(await bench.counts()).toEqual([1, 0, 0, 0]);
  });
});

describe('a rollback', () => {
  it('may come twice, and ends the transaction for the handler', async () => {
    const { bench, lease, tx } = await begun();
    await tx.rollback();
    await tx.rollback();
    expect((await refusal(() => tx.sql.query('SELECT 1'))).code).toBe('LEASE_LOST');
    await expectUndone(bench, lease);
  });

  it('does not wait for the statement under way, nor send those behind it', async () => {
    const { bench, lease, tx } = await begun();
    const underWay = tx.sql.query('SELECT pg_sleep(600)').catch((error: unknown) => error);
    const behind = tx.sql
      .query("INSERT INTO effects (name) VALUES ('behind')")
      .catch((error: unknown) => error);
    await new Promise(setImmediate);
    await tx.rollback();
    expect(await underWay).toBeInstanceOf(Error);
    expect(await behind).toMatchObject({ code: 'LEASE_LOST' });
    await expectUndone(bench, lease);
  });
});
