import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hmacSha256 } from '../../../core/envelope/hmac.ts';
import { secret } from './kit.ts';

const reference = (key: Uint8Array, text: string): string =>
  createHmac('sha256', key).update(text, 'utf8').digest('hex');

describe('hmacSha256', () => {
  it('is what createHmac makes, for any key and any text', () => {
    const key = fc.uint8Array({ minLength: 1, maxLength: 200 });
    const texts = fc.array(fc.string({ unit: 'binary', maxLength: 200 }), { maxLength: 5 });
    fc.assert(
      fc.property(key, texts, (bytes, list) => {
        const mac = hmacSha256(bytes);
        for (const text of list) expect(mac(text)).toBe(reference(bytes, text));
      }),
      { numRuns: 500 },
    );
  });

  it.each([32, 63, 64, 65, 128])('is right for a key of %d bytes, where a block has 64', (length) => {
    const key = new Uint8Array(length).map((_, i) => i + 1);
    expect(hmacSha256(key)('text')).toBe(reference(key, 'text'));
  });

  it.each(['a', 'é', '中', '🚢'])('is right around the size of its buffer, for texts of %s', (letter) => {
    const mac = hmacSha256(secret(1));
    for (const length of [5_440, 5_461, 5_462, 8_192, 16_320, 16_384, 16_448, 50_000, 3]) {
      const text = letter.repeat(length);
      expect(mac(text), `${length} letters`).toBe(reference(secret(1), text));
    }
  });

  it('does not mistake a text for one of as many bytes that did not fit', () => {
    const mac = hmacSha256(secret(1));
    const [long, short] = ['x'.repeat(9_000), '中'.repeat(3_000)];
    for (const text of [long, short, long, short]) expect(mac(text)).toBe(reference(secret(1), text));
  });

  it('keeps nothing of the text before, nor of the key bytes it was given', () => {
    const bytes = new Uint8Array(32).fill(1);
    const mac = hmacSha256(bytes);
    mac('a much longer text than the next one');
    bytes.fill(9);
    expect([mac('x'), mac(''), mac('x')]).toEqual(['x', '', 'x'].map((text) => reference(secret(1), text)));
  });
});
