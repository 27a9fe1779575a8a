import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/base/errors.ts';
import { keyRing, parseSigningKeys } from '../../../core/envelope/signing.ts';
import { refusalText, secret } from './kit.ts';

const k1 = { kid: 'k1', secret: secret(1) };
const k2 = { kid: 'k2', secret: secret(2) };
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const lookAlike = (text: string): string =>
  String.fromCharCode(...Array.from(text, (letter) => letter.charCodeAt(0) + 0x100));

describe('keyRing', () => {
  it('signs with the first key: HMAC-SHA256 over UTF-8, lower-case hex', () => {
    const ring = keyRing([k2, k1]);
    expect(ring.kid).toBe('k2');
    expect(ring.sign('Grüße 🚢')).toBe(
      createHmac('sha256', k2.secret).update('Grüße 🚢', 'utf8').digest('hex'),
    );
  });

  it('verifies what any of its keys has signed', () => {
    const ring = keyRing([k2, k1]);
    expect(() => ring.verify('k1', 'text', keyRing([k1]).sign('text'))).not.toThrow();
    expect(() => ring.verify('k2', 'text', keyRing([k2]).sign('text'))).not.toThrow();
  });

  it('does not follow a later change of the bytes it was given', () => {
    const bytes = Buffer.alloc(32, 1);
    const ring = keyRing([{ kid: 'k1', secret: bytes }]);
    bytes.fill(9);
    expect(ring.sign('text')).toBe(keyRing([k1]).sign('text'));
  });

  it('refuses a key it does not have', async () => {
    expect(await refusalText(() => keyRing([k1]).verify('k2', 'text', 'aa'))).toBe(
      'UNKNOWN_KEY: The envelope is signed with key "k2", which is not on this ring. Add the key, or requeue after the roll-out.',
    );
  });

  it.each([
    ['of another key', keyRing([k2]).sign('text')],
    ['of another text', keyRing([k1]).sign('Text')],
    ['that is empty', ''],
    ['that is cut off', keyRing([k1]).sign('text').slice(0, 62)],
    ['that goes on', `${keyRing([k1]).sign('text')}00`],
    ['that is no hex', 'z'.repeat(64)],
    ['in upper case', keyRing([k1]).sign('text').toUpperCase()],
    ['of letters whose low bytes are the right ones', lookAlike(keyRing([k1]).sign('text'))],
  ])('refuses a signature %s', async (_, signature) => {
    expect(await refusalText(() => keyRing([k1]).verify('k1', 'text', signature))).toBe(
      'SIGNATURE: The signature does not match: the envelope was changed or forged.',
    );
  });

  it('accepts unsigned envelopes until a date, by default never', () => {
    expect(keyRing([k1]).acceptUnsignedUntil).toBeNull();
    const until = new Date('2026-02-01T00:00:00Z');
    expect(keyRing([k1], { acceptUnsignedUntil: until }).acceptUnsignedUntil).toBe(until.getTime());
  });

  it.each([
    ['no key', [], 'A key ring needs at least one key. Make one with `openssl rand -base64 32`.'],
    [
      'a short key',
      [{ kid: 'k1', secret: new Uint8Array(31) }],
      'The key "k1" has 31 bytes, expected at least 32. Make one with `openssl rand -base64 32`.',
    ],
    ['a kid twice', [k1, k1], 'The key id "k1" is on the ring twice. Give every key its own id.'],
    [
      'a kid with a space',
      [{ kid: 'k 1', secret: secret(1) }],
      'A key id must match /^[A-Za-z0-9._-]{1,64}$/, got "k 1".',
    ],
    [
      'an empty kid',
      [{ kid: '', secret: secret(1) }],
      'A key id must match /^[A-Za-z0-9._-]{1,64}$/, got "".',
    ],
  ])('refuses %s', async (_, keys, message) => {
    expect(await refusalText(() => keyRing(keys))).toBe(`CONFIG: ${message}`);
  });
});

describe('parseSigningKeys', () => {
  it('reads one key or several, with white space around them', () => {
    const text = ` new:${base64(secret(1))} , 2025-01 : ${base64(secret(2))}\n`;
    expect(parseSigningKeys(text)).toEqual([
      { kid: 'new', secret: Buffer.from(secret(1)) },
      { kid: '2025-01', secret: Buffer.from(secret(2)) },
    ]);
  });

  it('reads base64 without padding and base64url as well', () => {
    const bytes = Buffer.alloc(32, 0xfb);
    for (const text of [base64(bytes), base64(bytes).replace('=', ''), bytes.toString('base64url')]) {
      expect(parseSigningKeys(`k1:${text}`)).toEqual([{ kid: 'k1', secret: bytes }]);
    }
  });

  const whole = base64(secret(1));
  it.each([
    ['nothing', '', 1],
    ['no colon', whole, 1],
    ['no kid', `:${whole}`, 1],
    ['no secret', 'k1:', 1],
    ['a comma at the end', `k1:${whole},`, 2],
    ['another separator', `k1:${whole};k2:${whole}`, 1],
    ['a character that is not base64', `k1:${whole.slice(0, 20)}$${whole.slice(21)}`, 1],
    ['kid and secret turned round', `${whole}:k1`, 1],
  ])('refuses %s and says which key it was', async (_, text, number) => {
    expect(await refusalText(() => parseSigningKeys(text))).toBe(
      `CONFIG: Key ${number} of LONGSHORE_SIGNING_KEYS is not of the form kid:base64. Make one with \`openssl rand -base64 32\`.`,
    );
  });

  it('refuses a short secret and says which key it was', async () => {
    expect(await refusalText(() => parseSigningKeys(`k1:${whole},k2:${base64(randomBytes(16))}`))).toBe(
      'CONFIG: Key 2 of LONGSHORE_SIGNING_KEYS has 16 bytes, expected at least 32. Make one with `openssl rand -base64 32`.',
    );
  });

  it('never tells a piece of the text in an error, however the text is broken', () => {
    const bytes = fc.uint8Array({ minLength: 8, maxLength: 48 });
    const written = bytes.map((secretBytes) => Buffer.from(secretBytes));
    const word = fc.oneof(
      written.map((buffer) => buffer.toString('base64')),
      written.map((buffer) => buffer.toString('base64url')),
      written.map((buffer) => buffer.toString('hex')),
      fc.string({ minLength: 8 }),
    );
    const separator = fc.constantFrom(':', ',', '=', ';', ' ', '::', ',,', '', '\n');
    const piece = fc.tuple(word, separator).map(([text, mark]) => text + mark);
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 4 }), (pieces) => {
        const text = pieces.join('');
        try {
          keyRing(parseSigningKeys(text));
        } catch (error) {
          expect(error).toBeInstanceOf(LongshoreError);
          fc.pre(!(error as Error).message.includes('on the ring twice')); // then both were whole keys
          expect(leaked(text, (error as Error).message)).toEqual([]);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

/** Every run of 8 characters of the text that the message repeats. */
function leaked(text: string, message: string): string[] {
  const known = 'of the form kid:base64. Make one with `openssl rand -base64 32`. LONGSHORE_SIGNING_KEYS';
  const runs = Array.from({ length: Math.max(0, text.length - 7) }, (_, i) => text.slice(i, i + 8));
  return runs.filter((run) => message.includes(run) && !known.includes(run));
}
