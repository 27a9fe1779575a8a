/** The vectors of docs/envelope-vectors.json are frozen: a change of the format shows here, and only here. */

import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Envelope, readEnvelope } from '../../../core/envelope/envelope.ts';
import { type KeyRing, keyRing } from '../../../core/envelope/signing.ts';
import { writeEnvelope } from '../../../core/envelope/write-envelope.ts';
import { refusal } from './kit.ts';

interface Key {
  readonly kid: string;
  readonly key: string;
}

interface Vector extends Key {
  readonly name: string;
  readonly text: string;
  readonly ring?: readonly Key[];
  readonly now?: number;
  readonly maxBytes?: number;
  readonly acceptUnsignedUntil?: number;
}

const file = join(import.meta.dirname, '../../../docs/envelope-vectors.json');
const vectors: {
  readonly valid: readonly (Vector & { readonly envelope: Envelope })[];
  readonly accepted: readonly Vector[];
  readonly invalid: readonly (Vector & { readonly code: string })[];
} = JSON.parse(readFileSync(file, 'utf8'));

const secretOf = ({ key }: Key): Buffer => Buffer.from(key, 'base64');

function ringOf({ kid, key, ring, acceptUnsignedUntil }: Vector): KeyRing {
  const keys = (ring ?? [{ kid, key }]).map((one) => ({ kid: one.kid, secret: secretOf(one) }));
  return keyRing(
    keys,
    acceptUnsignedUntil === undefined ? {} : { acceptUnsignedUntil: new Date(acceptUnsignedUntil) },
  );
}

function read(vector: Vector): Envelope {
  const { text, now = 1_768_478_400_000, maxBytes = 1_048_576 } = vector;
  return readEnvelope(text, { ring: ringOf(vector), now, maxBytes });
}

describe('a valid envelope', () => {
  it.each(vectors.valid)('$name: is written byte for byte', ({ kid, key, envelope, text }) => {
    const ring = keyRing([{ kid, secret: secretOf({ kid, key }) }]);
    expect(writeEnvelope(envelope, ring)).toBe(text);
  });

  it.each(vectors.valid)('$name: is read back', (vector) => {
    const { kid, _sig, ...members } = read(vector) as Envelope & { kid: string; _sig: string };
    expect(members).toEqual(vector.envelope);
    expect(kid).toBe(vector.kid);
  });

  it.each(vectors.valid)('$name: is signed as the specification says', (vector) => {
    const signed = Buffer.from(vector.text, 'utf8').subarray(0, -75);
    const mac = createHmac('sha256', secretOf(vector)).update(signed).digest('hex');
    expect(vector.text.slice(-75)).toBe(`,"_sig":"${mac}"}`);
  });

  it.each(vectors.valid)('$name: survives a host that parses it and writes it again', ({ text }) => {
    expect(JSON.stringify(JSON.parse(text))).toBe(text);
  });

  it('is the JSON of its members in their order, whatever they hold', () => {
    const { kid, key } = vectors.valid[0]!;
    const ring = keyRing([{ kid, secret: secretOf({ kid, key }) }]);
    const text = fc.string({ unit: 'grapheme', maxLength: 20 });
    const count = fc.maxSafeNat();
    const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
    const some = fc.record({
      v: fc.constant(1 as const),
      job: text,
      payload: fc.option(fc.jsonValue(), { nil: undefined }),
      queue: text,
      priority: count,
      maxRetries: count,
      attempts: count,
      name: orNull(text),
      identifier: text,
      idempotencyKey: orNull(text),
      schedule: orNull(count),
      issuedAt: count,
      expiresAt: orNull(count),
      context: orNull(fc.record({ tenantId: text, requestId: text }, { requiredKeys: [] })),
      claim: fc.option(fc.record({ key: text, bytes: count, sha256: text }), { nil: undefined }),
    });
    fc.assert(
      fc.property(some, (envelope) => {
        const json = JSON.stringify({ ...envelope, kid });
        expect(writeEnvelope(envelope as Envelope, ring).slice(0, -75)).toBe(json.slice(0, -1));
      }),
      { numRuns: 500 },
    );
  });

  it('does not depend on the order or the extra members of the object it is written from', () => {
    const { kid, key, envelope, text } = vectors.valid[0]!;
    const turned = Object.fromEntries(Object.entries({ extra: 1, ...envelope }).reverse());
    const ring = keyRing([{ kid, secret: secretOf({ kid, key }) }]);
    expect(writeEnvelope(turned as unknown as Envelope, ring)).toBe(text);
  });
});

describe('an envelope of another writer', () => {
  it.each(vectors.accepted)('$name: is accepted', (vector) => {
    expect(read(vector)).toMatchObject({ v: 1, job: 'invoice.send', queue: 'mail' });
  });

  it('cannot change what an object is by a member called __proto__', () => {
    const { key } = vectors.valid[0]!;
    const members = `{"__proto__":{"expiresAt":1},"v":1,"job":"a","queue":"b","priority":5,"maxRetries":3,"attempts":0,"identifier":"x","issuedAt":1,"kid":"k1"`;
    const mac = createHmac('sha256', secretOf({ kid: 'k1', key }))
      .update(members)
      .digest('hex');
    const envelope = read({ name: '', kid: 'k1', key, text: `${members},"_sig":"${mac}"}` });
    expect(envelope.expiresAt).toBeUndefined();
    expect({}).not.toHaveProperty('expiresAt');
  });
});

describe('an invalid envelope', () => {
  it.each(vectors.invalid)('$name: is refused with $code', async (vector) => {
    const error = await refusal(() => read(vector));
    expect(error.code).toBe(vector.code);
  });

  it.each(vectors.invalid)('$name: is refused without a word of its payload', async (vector) => {
    const { message } = await refusal(() => read(vector));
    expect(message).not.toMatch(/1042|1043|admin/);
  });
});

describe('the vectors', () => {
  it('begin with the example of the specification', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/envelope.md'), 'utf8');
    expect(page).toContain(`\n${vectors.valid[0]!.text}\n`);
  });

  it('have names of their own', () => {
    const names = [...vectors.valid, ...vectors.accepted, ...vectors.invalid].map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });
});
