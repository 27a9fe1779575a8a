/** What an envelope says of a payload that is kept elsewhere; test/testing/laws/payload-store.ts has the rest. */

import { describe, expect, it } from 'vitest';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { writeEnvelope } from '../../../core/envelope/write-envelope.ts';
import { bench, job, ring, startMs } from './kit.ts';

const plain = {
  v: 1 as const,
  job: 'work',
  payload: null,
  queue: 'default',
  priority: 5,
  maxRetries: 0,
  attempts: 0,
  name: null,
  identifier: 'id-1',
  idempotencyKey: null,
  schedule: null,
  issuedAt: startMs,
  expiresAt: null,
  context: null,
};
const claim = { key: 'id-1.0123456789abcdef', bytes: 7, sha256: 'a'.repeat(64) };
const read = (text: string) => readEnvelope(text, { ring, now: startMs, maxBytes: 10_000 });

describe('the claim in an envelope', () => {
  it('is read as it was written, and left out where there is none', () => {
    expect(read(writeEnvelope({ ...plain, claim }, ring)).claim).toEqual(claim);
    expect(writeEnvelope({ ...plain, claim: null }, ring)).toBe(writeEnvelope(plain, ring));
    expect(writeEnvelope(plain, ring)).not.toContain('claim');
  });

  it.each([
    { ...claim, key: '../../etc/passwd' },
    { ...claim, key: '..' },
    { ...claim, key: '' },
    { ...claim, key: 'x'.repeat(161) },
    { ...claim, bytes: -1 },
    { ...claim, bytes: '7' },
    { ...claim, sha256: 'A'.repeat(64) },
    { key: claim.key },
    'id-1',
    7,
    [],
  ])('is refused when it leads elsewhere or is not whole: %o', (wrong) => {
    const text = writeEnvelope({ ...plain, claim: wrong as never }, ring);
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'ENVELOPE' }));
  });

  it('is a failed attempt for a worker that has no store for it', async () => {
    const t = bench({ jobs: [job({ maxRetries: 1 })] });
    const body = writeEnvelope({ ...plain, maxRetries: 1, claim }, ring);
    const facts = { id: 'id-1', queue: 'default', job: 'work', priority: 5, notBefore: null };
    await t.backend.enqueue([{ ...facts, body, group: null, tenantId: null }]);
    const result = await t.run(await t.take());
    expect(result).toMatchObject({ outcome: 'requeued', error: { code: 'CONFIG' } });
    expect(result.error!.message).toMatch(/Give the worker a store with payloads/);
  });
});
