/** What the Functions host does to a message on its way, and what must survive it. */

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deliveryFrom, leaseOf, type TriggerMetadata } from '../../../functions/azure/app/trigger.ts';
import {
  deliveryOf,
  messageIdOf,
  propertiesOf,
  type Tags,
  tagsOf,
} from '../../../functions/azure/service-bus/message.ts';
import { metadataOf } from '../../../local/simulate/functions/service-bus-trigger.ts';
import { type FunctionAppKit, minute, openFunctionApp } from './kit.ts';

const metadata: TriggerMetadata = {
  lockToken: 'a-b',
  deliveryCount: 1,
  messageId: 'm',
  applicationProperties: {},
};
const terms = { queue: 'mail', expiresAt: 1_000 };

describe('leaseOf()', () => {
  it('restores the signed text of a body that was parsed', () => {
    const text = JSON.stringify({ v: 1, payload: { é: '🚢', 2: [1.5, null], a: '1e3' }, _sig: 'x' });
    expect(leaseOf(JSON.parse(text), metadata, terms).body).toBe(text);
    expect(leaseOf(text, metadata, terms).body).toBe(text);
    expect(leaseOf(Buffer.from(text), metadata, terms).body).toBe(text);
  });

  it('restores every text that JSON.stringify can write', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify({ v: 1, payload: value, _sig: 'x' });
        expect(deliveryFrom(JSON.parse(text), metadata).body).toBe(text);
      }),
    );
  });

  it.each([
    [123, '123'],
    [true, 'true'],
    [null, 'null'],
    [undefined, ''],
    ['', ''],
  ])('makes a text of a body that came as %j', (body, text) => {
    expect(leaseOf(body, metadata, terms).body).toBe(text);
  });

  it('counts the first delivery as 1, whether the host says 1 or, like the SDK, 0', () => {
    const attempts = [0, 1, 2].map(
      (deliveryCount) => leaseOf('{}', { ...metadata, deliveryCount }, terms).attempt,
    );
    expect(attempts).toEqual([1, 1, 2]);
    const sdk = [undefined, 0, 1].map(
      (deliveryCount) => deliveryOf({ body: '', deliveryCount }).deliveryCount,
    );
    expect(sdk).toEqual([1, 1, 2]);
  });

  it('adds the attempts of earlier copies, however the host has parsed the number', () => {
    for (const attempts of ['2', 2]) {
      const applicationProperties = { 'longshore.attempts': attempts };
      expect(leaseOf('{}', { ...metadata, applicationProperties }, terms).attempt).toBe(3);
    }
  });

  it('counts any second delivery as an interruption, and the first one of a copy as none', () => {
    expect(leaseOf('{}', { ...metadata, deliveryCount: 2 }, terms).interrupted).toBe(true);
    const applicationProperties = { 'longshore.attempts': '1' };
    expect(leaseOf('{}', { ...metadata, applicationProperties }, terms).interrupted).toBe(false);
  });

  it.each([
    ['2026-01-15T12:00:00+00:00', undefined],
    [undefined, '2026-01-15T12:00:00'],
    [undefined, '2026-01-15T12:00:00Z'],
    ['2026-01-15T13:00:00+01:00', undefined],
  ])('reads the time of %s and %s as UTC', (enqueuedTime, enqueuedTimeUtc) => {
    const { enqueuedAt } = deliveryFrom('{}', { ...metadata, enqueuedTime, enqueuedTimeUtc });
    expect(enqueuedAt).toBe(Date.UTC(2026, 0, 15, 12));
  });

  it('takes a message id that has become a number for a name', () => {
    expect(deliveryFrom('{}', { ...metadata, messageId: 123 }).tags.id).toBe('123');
    expect(deliveryFrom('{}', { ...metadata, messageId: undefined, sequenceNumber: 7 }).tags.id).toBe(
      'sequence-7',
    );
  });

  it.each([
    [undefined],
    [{}],
    [{ lockToken: '', deliveryCount: 1 }],
    [{ lockToken: 'a' }],
    [{ lockToken: ['a', 'b'], deliveryCount: [1, 1] }],
  ])('refuses metadata that are not those of one message: %j', (wrong) => {
    expect(() => leaseOf('{}', wrong as TriggerMetadata, terms)).toThrow(
      expect.objectContaining({ code: 'CONFIG' }),
    );
  });
});

describe('properties', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9._-]{1,128}$/);
  const tags = fc.record<Tags>({
    id: fc.oneof(name, fc.constantFrom('123', '1e3', '0012', '1.0', 'true', 'null', '-0', '1e999')),
    job: fc.oneof(name, fc.constantFrom('', '7', 'false')),
    group: fc.constant(null),
    attempts: fc.nat(1_000),
    copies: fc.nat(1_000),
    series: fc.oneof(name, fc.constantFrom('1e3', '5')),
    interrupted: fc.boolean(),
  });

  it('survive a host that parses each value, one that parses none, and the SDK', () => {
    fc.assert(
      fc.property(tags, (given) => {
        const sent = propertiesOf(given);
        const parsed = Object.fromEntries(
          Object.entries(sent).map(([key, text]) => [key, parsedLikeTheHost(text)]),
        );
        expect(tagsOf(sent, 'other', null)).toEqual(given);
        expect(tagsOf(parsed, 'other', null)).toEqual(given);
      }),
    );
  });

  it('have keys that begin small, because the host makes them so', () => {
    const given = { id: 'a', job: 'j', group: null, attempts: 1, copies: 1, series: 's', interrupted: true };
    for (const key of Object.keys(propertiesOf(given))) expect(key[0]).toBe(key[0]!.toLowerCase());
  });

  it('give every copy a message id of at most 128 characters, and no two the same', () => {
    const long = 'x'.repeat(128);
    const base = { id: long, job: '', group: null, attempts: 0, series: long, interrupted: false };
    const ids = [0, 1, 2, 10].map((copies) => messageIdOf({ ...base, copies }));
    const others = [1, 2].map((copies) => messageIdOf({ ...base, series: `${long.slice(1)}y`, copies }));
    expect(new Set([...ids, ...others]).size).toBe(6);
    for (const id of [...ids, ...others]) expect(id.length).toBeLessThanOrEqual(128);
  });
});

function parsedLikeTheHost(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

describe('through the real conversions', () => {
  const ids = ['123', '1e3', '0012', 'true', '1.50'];
  let t: FunctionAppKit;
  beforeEach(async () => {
    const left = [...ids];
    t = await openFunctionApp({ newId: () => left.shift()! });
  });
  afterEach(() => t.close());

  it('ids that look like numbers keep their name through retries and into the dead letters', async () => {
    for (const id of ids) {
      t.behaviour.set(id, () => {
        throw new Error('no');
      });
      expect(await t.enqueue(id)).toBe(id);
    }
    for (let round = 0; round < 3; round++) {
      const calls = await t.trigger.poll('mail');
      expect(calls.map(({ end }) => end)).toEqual(ids.map(() => 'completed'));
      t.clock.advance(minute);
    }
    const letters = await t.backend.admin!.deadLetters.list({});
    expect(letters.map(({ id, reason, attempt }) => [id, reason, attempt]).sort()).toEqual(
      ids.map((id) => [id, 'exhausted', 3]).sort(),
    );
    expect((await t.client.status('1e3'))?.status).toBe('failed');
  });

  it('the trigger sees what the documentation says it sees', async () => {
    await t.enqueue('a');
    const seen: unknown[] = [];
    t.behaviour.set('a', (ctx) => seen.push(ctx.id, ctx.attempt));
    const [call] = await t.trigger.poll('mail');
    expect(seen).toEqual(['123', 1]);
    const { DeliveryCount, MessageId, EnqueuedTimeUtc } = metadataOf(call!.message);
    expect([DeliveryCount, MessageId]).toEqual([{ int: 1 }, { string: '123' }]);
    expect(EnqueuedTimeUtc!.json).not.toContain('Z');
  });
});
