/** Whatever is in the payload: one character more, less or different, and the envelope is refused. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/base/errors.ts';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { keyRing } from '../../../core/envelope/signing.ts';
import { envelope, ring, secret, startMs } from './kit.ts';

const reading = { ring, now: startMs, maxBytes: 1_048_576 };
const codeUnit = fc.nat({ max: 0xffff }).map((unit) => String.fromCharCode(unit));
const payload = fc.jsonValue({ stringUnit: 'binary' }).filter((value) => !hasProto(value));
const text = payload.map((value) => envelope({ payload: value }));

function hasProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.keys(value).includes('__proto__') || Object.values(value).some(hasProto);
}

function codeOf(changed: string): string {
  try {
    readEnvelope(changed, reading);
  } catch (error) {
    if (error instanceof LongshoreError) return error.code;
    throw error;
  }
  return 'accepted';
}

describe('an envelope', () => {
  it('carries any JSON there and back', () => {
    fc.assert(
      fc.property(payload, (value) => {
        const read = readEnvelope(envelope({ payload: value }), reading).payload;
        expect(read).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('survives a host that parses it and writes it again', () => {
    fc.assert(fc.property(text, (whole) => JSON.stringify(JSON.parse(whole)) === whole));
  });

  it('is refused when one character is another', () => {
    fc.assert(
      fc.property(text, fc.nat(), codeUnit, (whole, place, character) => {
        const at = place % whole.length;
        fc.pre(whole[at] !== character);
        const changed = whole.slice(0, at) + character + whole.slice(at + 1);
        expect(codeOf(changed)).toMatch(/^(SIGNATURE|UNKNOWN_KEY)$/);
      }),
      { numRuns: 2000 },
    );
  });

  it('is refused when one bit of any byte is another', () => {
    const bytes = Buffer.from(envelope({ payload: { a: ['é', '🚢', '\ufffd', 1.5, null] } }), 'utf8');
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const changed = Buffer.from(bytes);
        changed[at]! ^= 1 << bit;
        expect(codeOf(changed.toString('utf8')), `bit ${bit} of byte ${at}`).toMatch(
          /^(SIGNATURE|UNKNOWN_KEY)$/,
        );
      }
    }
  });

  it('is refused when a character is missing, doubled or added', () => {
    fc.assert(
      fc.property(text, fc.nat(), codeUnit, (whole, place, character) => {
        const at = place % whole.length;
        const shorter = whole.slice(0, at) + whole.slice(at + 1);
        const longer = whole.slice(0, at) + character + whole.slice(at);
        for (const changed of [shorter, longer, character + whole, whole + character]) {
          expect(codeOf(changed)).toMatch(/^(SIGNATURE|UNKNOWN_KEY)$/);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is refused when it is cut off anywhere', () => {
    const whole = envelope();
    for (let end = 0; end < whole.length; end++) expect(codeOf(whole.slice(0, end))).toBe('SIGNATURE');
  });

  it('is refused by every ring without its key', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 64 }), (bytes) => {
        fc.pre(Buffer.compare(bytes, secret(1)) !== 0);
        const other = keyRing([{ kid: 'k1', secret: bytes }]);
        expect(() => readEnvelope(envelope(), { ...reading, ring: other })).toThrow(LongshoreError);
      }),
    );
  });

  it('is never accepted for being nonsense: any text is refused with one of our codes', () => {
    const nonsense = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.json().map((json) => `${json},"_sig":""}`),
    );
    fc.assert(fc.property(nonsense, (any) => codeOf(any) === 'SIGNATURE'));
  });
});
