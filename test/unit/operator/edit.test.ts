/** A dead letter with another payload. */

import { describe, expect, it } from 'vitest';
import { keyRing } from '../../../core/envelope/signing.ts';
import { createApp } from '../../../core/features/table.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { connect } from '../../../core/routing/connect.ts';
import { envelope, refusal, secret } from '../core/kit.ts';
import { brief, by, mail, operatorBench } from './kit.ts';

const login = { user: 'ann', password: 'hunter2' };

describe('editing a dead letter', () => {
  it('signs the new payload, makes the job ready and keeps what was masked', async () => {
    const { operator, die, drain, client } = operatorBench();
    const id = await die(mail, { to: 'a', error: 'no address', login });
    const shown = await operator.deadLetters.show(id);
    expect(shown).toMatchObject({
      payload: { value: { to: 'a', error: 'no address', login: { user: 'ann', password: '[masked]' } } },
      envelope: { idempotencyKey: 'mail-a', kid: 'k1' },
      editable: true,
      expired: false,
      attempts: [{ outcome: 'dead-lettered' }],
    });
    await operator.deadLetters.edit(id, {
      payload: { to: 'b', login: { user: 'bob', password: '[masked]' } },
    });
    const body = JSON.parse((await client.stores.records.body(id))!);
    expect(body).toMatchObject({
      identifier: id,
      payload: { to: 'b', login: { user: 'bob', password: 'hunter2' } },
      idempotencyKey: 'mail-b',
      attempts: 0,
    });
    await drain();
    expect(await client.status(id)).toMatchObject({ status: 'completed', idempotencyKey: 'mail-b' });
  });

  it('keeps a key that was given', async () => {
    const { operator, client, drain } = operatorBench();
    const { id } = await client.enqueue(mail, { to: 'a', error: 'x' }, { idempotencyKey: 'mine' });
    await drain();
    await operator.deadLetters.edit(id, { payload: { to: 'b' } });
    expect(await client.status(id)).toMatchObject({ idempotencyKey: 'mine' });
  });

  it('is refused where the payload does not fit, and changes nothing', async () => {
    const { operator, die } = operatorBench();
    const id = await die(mail, { to: 'a', error: 'x' });
    const codeOf = async (payload: unknown) =>
      (await refusal(() => operator.deadLetters.edit(id, { payload }))).code;
    expect(await codeOf({ to: 5 })).toBe('PAYLOAD');
    expect(await codeOf({ to: 'a', at: new Date() })).toBe('PAYLOAD');
    expect(await codeOf({ to: 'a', login: { user: 'u', password: '[masked]' } })).toBe('PAYLOAD');
    await operator.deadLetters.edit(id, { payload: { to: 'fine' }, dryRun: true });
    expect((await operator.deadLetters.show(id))?.payload?.value).toEqual({ to: 'a', error: 'x' });
    const stale = { payload: { to: 'fine' }, diedAt: 1 };
    expect((await refusal(() => operator.deadLetters.edit(id, stale))).code).toBe('CONFLICT');
    expect((await refusal(() => operator.deadLetters.edit('nobody', { payload: {} }))).code).toBe(
      'NOT_FOUND',
    );
  });

  it('is refused for a letter that does not verify, with the reason', async () => {
    const { operator, put, drain } = operatorBench();
    await put(envelope({ job: 'mail', payload: { to: 'a' } }).replace('"to":"a"', '"to":"b"'));
    await drain();
    await put('{"Records":[]}');
    await drain();
    const { letters } = await operator.deadLetters.page({});
    const [foreign, forged] = await Promise.all(letters.map(({ id }) => operator.deadLetters.show(id)));
    expect(forged).toMatchObject({
      envelope: null,
      payload: null,
      editable: expect.stringContaining('changed or forged'),
    });
    expect(foreign).toMatchObject({
      envelope: null,
      payload: null,
      editable: expect.stringContaining('another program'),
    });
    for (const { id } of letters)
      expect((await refusal(() => operator.deadLetters.edit(id, { payload: { to: 'c' } }))).code).toBe(
        'SIGNATURE',
      );
    // What nobody can sign anew can still be retried as it is.
    expect(await operator.deadLetters.retry({ filter: {} })).toMatchObject({ done: 2, refused: [] });
    await drain();
    expect(await operator.deadLetters.retry({ filter: {} }, { expiresInMs: 5 })).toMatchObject({
      done: 0,
      refused: [{}, {}],
    });
  });

  it('is refused where the key is not on the ring', async () => {
    const { backend, clock, die } = operatorBench();
    const id = await die(mail, { to: 'a', error: 'x' });
    const app = createApp({ jobs: [mail], clock, signing: keyRing([{ kid: 'k9', secret: secret(9) }]) });
    const operator = createOperator(connect(app, backend), by);
    const error = await refusal(() => operator.deadLetters.edit(id, { payload: { to: 'b' } }));
    expect(error.code).toBe('UNKNOWN_KEY');
    expect((await operator.deadLetters.show(id))?.editable).toBe(error.message);
  });

  it('is refused for a job that is not known here', async () => {
    const { backend, clock, die, app } = operatorBench();
    const id = await die(mail, { to: 'a', error: 'x' });
    const other = createApp({ jobs: [brief], clock, signing: app.keyRing() });
    const operator = createOperator(connect(other, backend), by);
    expect((await refusal(() => operator.deadLetters.edit(id, { payload: {} }))).code).toBe('UNKNOWN_JOB');
  });

  it('of an expired one needs a new expiry', async () => {
    const { operator, client, clock, drain } = operatorBench();
    const { id } = await client.enqueue(brief, { n: 1 });
    clock.advance(60_000);
    await drain();
    const payload = { n: 2 };
    expect((await refusal(() => operator.deadLetters.edit(id, { payload }))).code).toBe('OPTION');
    await operator.deadLetters.edit(id, { payload, expiresInMs: 500 });
    await drain();
    expect(await client.status(id)).toMatchObject({ error: expect.stringContaining('number 2') });
  });
});
