import { describe, expect, it } from 'vitest';
import { signatureOf, verifyWebhook } from '../../../core/jobs/webhook-signature.ts';
import { refused } from './kit.ts';

const secret = 'a secret of at least thirty-two bytes';
const other = 'another secret with thirty-two bytes.';
const now = 1_700_000_000_000;

/** Made with `printf '%s' '1700000000.<body>' | openssl dgst -sha256 -hmac '<secret>'`. */
const vectors = [
  ['', '583be338038a9992c116cef8c30e3069514a5c293c909a576fd4c3b3ec4dc771'],
  ['{"a":1}', 'b51c6f0cb715795faf5f16f0cf0b78adf54fdb81d0b49da3c9784fe04aa0e4d9'],
  ['grüße ✓', '819a631056d89b3e5f591d1bee02919e6697d5e5c4c2ae37118a8a0d9189a3b2'],
] as const;

describe('signatureOf', () => {
  it.each(vectors)('signs %j as openssl does', (body, hex) => {
    expect(signatureOf(secret, body, now)).toBe(`t=1700000000,v1=${hex}`);
    expect(signatureOf(Buffer.from(secret), Buffer.from(body), now)).toBe(`t=1700000000,v1=${hex}`);
    expect(verifyWebhook({ secret, header: `t=1700000000,v1=${hex}`, body, now })).toBe(true);
  });
});

describe('verifyWebhook', () => {
  const body = '{"a":1}';
  const header = signatureOf(secret, body, now);
  const hex = header.slice(-64);

  it('takes any of several secrets, and any of several signatures', () => {
    expect(verifyWebhook({ secret: [other, secret], header, body, now })).toBe(true);
    expect(verifyWebhook({ secret: [secret, other], header, body, now })).toBe(true);
    const both = `${signatureOf(other, body, now)},v1=${hex}`;
    expect(verifyWebhook({ secret, header: both, body, now })).toBe(true);
    expect(verifyWebhook({ secret: [other], header, body, now })).toBe(false);
  });

  it('takes text and bytes', () => {
    expect(
      verifyWebhook({ secret: new TextEncoder().encode(secret), header, body: Buffer.from(body), now }),
    ).toBe(true);
  });

  it.each([
    ['at the moment', 0, true],
    ['at the end of the tolerance', 300_000, true],
    ['after it', 300_001, false],
    ['from a clock that runs ahead', -300_000, true],
    ['from the future', -300_001, false],
    ['a day later', 86_400_000, false],
  ])('judges a call %s', (_, offset, valid) => {
    expect(verifyWebhook({ secret, header, body, now: now + offset })).toBe(valid);
  });

  it('takes its tolerance', () => {
    expect(verifyWebhook({ secret, header, body, now: now + 1_001, toleranceMs: 1_000 })).toBe(false);
    expect(verifyWebhook({ secret, header, body, now, toleranceMs: 0 })).toBe(true);
  });

  it.each([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['a number', 5 as unknown as string],
    ['without time', `v1=${hex}`],
    ['without signature', 't=1700000000'],
    ['of another time', `t=1700000001,v1=${hex}`],
    ['with a negative time', `t=-1700000000,v1=${hex}`],
    ['with a time that is no number', `t=NaN,v1=${hex}`],
    ['in another order', `v1=${hex},t=1700000000`],
    ['in capitals', header.toUpperCase()],
    ['with a hex digit changed', `t=1700000000,v1=${hex.slice(0, 63)}${hex.endsWith('0') ? '1' : '0'}`],
    ['cut', header.slice(0, -1)],
    ['with one more digit', `${header}0`],
    ['with a space', `${header} `],
    ['with a line break', `${header}\n`],
    ['with two times', `t=1700000000,t=1700000000,v1=${hex}`],
    ['of another version', `t=1700000000,v2=${hex}`],
    ['with no hex in it', `t=1700000000,v1=${'z'.repeat(64)}`],
    ['of another secret', signatureOf(other, body, now)],
    ['of another body', signatureOf(secret, '{"a":2}', now)],
    ['far too long', `t=1700000000${`,v1=${hex}`.repeat(100)}`],
  ])('does not take a header %s', (_, wrong) => {
    expect(verifyWebhook({ secret, header: wrong, body, now })).toBe(false);
  });

  it.each([
    ['no secret', { secret: [] }, /at least one secret, got an empty list/],
    ['a short secret', { secret: 'hunter2' }, /at least 32 bytes/],
    ['one short secret among others', { secret: [secret, 'hunter2'] }, /at least 32 bytes/],
    ['a number', { secret: 5 as unknown as string }, /at least 32 bytes/],
    ['a negative tolerance', { secret, toleranceMs: -1 }, /toleranceMs to be 0 or more, got -1/],
    ['no tolerance', { secret, toleranceMs: Number.NaN }, /toleranceMs to be 0 or more, got NaN/],
  ])('throws for %s', async (_, options, message) => {
    const error = await refused(() => verifyWebhook({ header, body, now, ...options }));
    expect(error).toEqual({ code: 'CONFIG', message: expect.stringMatching(message) });
    expect(error.message).not.toContain('hunter2');
  });
});
