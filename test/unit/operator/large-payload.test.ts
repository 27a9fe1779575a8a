/** New texts where payloads or records are kept beside the queue. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { PermanentError } from '../../../core/base/errors.ts';
import { defineJob } from '../../../core/kernel/app/job.ts';
import { payloadOf } from '../../../core/kit/records/payload.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { directoryPayloads } from '../../../local/directory-payloads.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { refusal } from '../core/kit.ts';
import { operatorBench } from './kit.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-operator-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function shop(parts: { stores?: object } = {}) {
  const done: string[] = [];
  const print = defineJob({
    name: 'print',
    payload: z.object({ text: z.string(), token: z.string() }),
    keepPayload: true,
    handle({ text, token }) {
      if (text.startsWith('bad')) throw new PermanentError('bad text');
      done.push(`${text.length} ${token}`);
    },
  });
  return { ...operatorBench({ jobs: [print], maxBodyBytes: 1_024, ...parts }), print, done };
}

describe('an edited payload', () => {
  it('that is too large for the queue goes to the payload store, and comes back from there', async () => {
    const stores = { payloads: directoryPayloads(temporaryFolder()) };
    const { operator, die, drain, print, done } = shop({ stores });
    const id = await die(print, { text: `bad${'x'.repeat(5_000)}`, token: 't0p' });
    expect(await operator.deadLetters.show(id)).toMatchObject({
      payload: { value: { token: '[masked]' }, offloaded: { bytes: expect.any(Number) } },
      editable: true,
    });
    await operator.deadLetters.edit(id, { payload: { text: 'y'.repeat(6_000), token: '[masked]' } });
    await drain();
    expect(done).toEqual(['6000 t0p']);
    const again = await operator.jobs.runAgain(id);
    await drain();
    expect(done).toEqual(['6000 t0p', '6000 t0p']);
    expect(again).not.toBe(id);
  });

  it('that is small again travels with its message', async () => {
    const stores = { payloads: directoryPayloads(temporaryFolder()) };
    const { operator, die, drain, print, done, client } = shop({ stores });
    const id = await die(print, { text: `bad${'x'.repeat(5_000)}`, token: 't0p' });
    await operator.deadLetters.edit(id, { payload: { text: 'fine', token: '[masked]' } });
    expect(await client.stores.records.body(id)).not.toContain('claim');
    await drain();
    expect(done).toEqual(['4 t0p']);
  });

  it('that is too large without a payload store is refused', async () => {
    const { operator, die, print, deadLetters } = shop();
    const id = await die(print, { text: 'bad', token: 't' });
    const payload = { text: 'y'.repeat(6_000), token: 't' };
    expect((await refusal(() => operator.deadLetters.edit(id, { payload }))).code).toBe('LIMIT');
    expect(await deadLetters()).toHaveLength(1);
  });

  it('is in the record of a store beside the queue', async () => {
    const { operator, die, print, client } = shop({
      stores: { records: memoryStore({ clock: createVirtualClock() }).records },
    });
    const id = await die(print, { text: 'bad', token: 't' });
    expect(payloadOf(await client.stores.records.body(id))).toMatchObject({ value: { text: 'bad' } });
    await operator.deadLetters.edit(id, { payload: { text: 'good', token: 'u' } });
    expect(payloadOf(await client.stores.records.body(id))).toMatchObject({ value: { text: 'good' } });
    expect(await client.status(id)).toMatchObject({ status: 'pending', error: null });
  });
});
