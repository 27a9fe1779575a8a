import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/base/errors.ts';
import { assertJson, maxDepth } from '../../../core/base/json.ts';
import { refusal, refusalText } from './kit.ts';

const remedy = 'Send an id or a string and load the rest in the handler.';
const nested = (depth: number, inner: unknown = []): unknown => {
  let value = inner;
  for (let i = 1; i < depth; i++) value = i % 2 ? [value] : { deeper: value };
  return value;
};

describe('assertJson', () => {
  it('takes every JSON value', () => {
    const json = fc.jsonValue({ stringUnit: 'binary' }).map((value) => JSON.parse(JSON.stringify(value)));
    fc.assert(
      fc.property(json, (value) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        assertJson(value, 'payload');
      }),
    );
  });

  it.each([
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
    ['a member that is undefined, which JSON leaves out', { a: undefined, b: 1 }],
    ['objects of another realm', runInNewContext('({ a: { b: [1, { c: null }] } })')],
    ['half of a surrogate pair', '\ud83d'],
    ['keys that mean something elsewhere', { constructor: 1, prototype: 2, toString: 3 }],
    ['the same object twice', [nested(3), nested(3)]],
  ])('takes %s', (_, value) => {
    expect(() => assertJson(value, 'payload')).not.toThrow();
  });

  class Invoice {}
  const cases: [string, unknown, string][] = [
    ['a date of another realm', runInNewContext('new Date(0)'), 'a Date'],
    ['an object of a class of another realm', runInNewContext('new (class Invoice {})()'), 'a Invoice'],
    ['a function', () => 1, 'a function'],
    ['a symbol', Symbol('s'), 'a symbol'],
    ['undefined', undefined, 'undefined'],
    ['a bigint', 12n, '12'],
    ['NaN', Number.NaN, 'NaN'],
    ['Infinity', Number.POSITIVE_INFINITY, 'Infinity'],
    ['a Date', new Date(0), 'a Date'],
    ['a Map', new Map(), 'a Map'],
    ['a Set', new Set(), 'a Set'],
    ['a Buffer', Buffer.from('x'), 'a Buffer'],
    ['a RegExp', /x/, 'a RegExp'],
    ['an Error', new Error('x'), 'a Error'],
    ['a Promise', Promise.resolve(), 'a Promise'],
    ['an object of a class', new Invoice(), 'a Invoice'],
    ['a wrapped string', Object('x'), 'a String'],
    ['an object on another object', Object.create({ a: 1 }), 'a Object'],
  ];
  it.each(cases)('refuses %s and says where it is', async (_, value, got) => {
    for (const [whole, path] of [
      [value, 'payload'],
      [{ lines: [0, { at: value }] }, 'payload.lines[1].at'],
      [[[value]], 'payload[0][0]'],
    ] as const) {
      if (value === undefined && path === 'payload.lines[1].at') continue; // JSON leaves that member out
      expect(await refusalText(() => assertJson(whole, 'payload'))).toBe(
        `PAYLOAD: Expected plain JSON data at ${path}, got ${got}. ${remedy}`,
      );
    }
  });

  it('refuses a hole in a list', async () => {
    const list = [1, 2, 3];
    delete list[1];
    expect(await refusalText(() => assertJson(list, 'payload'))).toBe(
      `PAYLOAD: Expected plain JSON data at payload[1], got undefined. ${remedy}`,
    );
  });

  it('refuses a member function called toJSON, which would change what is sent', async () => {
    expect((await refusal(() => assertJson({ toJSON: () => 1 }, 'payload'))).code).toBe('PAYLOAD');
  });

  it.each(['{"__proto__":1}', '{"\\u005f\\u005fproto__":1}', '{"a":[{"__proto__":{}}]}'])(
    'refuses the key __proto__ in %s',
    async (text) => {
      expect(await refusalText(() => assertJson(JSON.parse(text), 'payload'))).toMatch(
        /^PAYLOAD: The key "__proto__" is not accepted, found in payload/,
      );
    },
  );

  it(`takes ${maxDepth} levels and refuses one more`, async () => {
    expect(() => assertJson(nested(maxDepth), 'payload')).not.toThrow();
    expect(() => assertJson(nested(maxDepth, 'leaf'), 'payload')).not.toThrow();
    expect(await refusalText(() => assertJson(nested(maxDepth + 1), 'payload'))).toMatch(
      /^LIMIT: Expected at most 64 levels of nesting, got more in payload/,
    );
  });

  it('refuses a cycle before the stack is full', async () => {
    const self: Record<string, unknown> = {};
    self.self = self;
    const list: unknown[] = [];
    list.push(list, list);
    for (const cycle of [self, list]) {
      expect((await refusal(() => assertJson(cycle, 'payload'))).code).toBe('LIMIT');
    }
  });

  it('keeps the path in its errors short', async () => {
    const { message } = await refusal(() => assertJson({ ['k'.repeat(5000)]: new Date(0) }, 'payload'));
    expect(message.length).toBeLessThan(300);
  });

  it('either refuses a value with one of our errors or sends it unchanged', () => {
    const anyValue = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
    });
    fc.assert(
      fc.property(anyValue, (value) => {
        try {
          assertJson(value, 'payload');
        } catch (error) {
          expect(error).toBeInstanceOf(LongshoreError);
          return;
        }
        expect(JSON.parse(JSON.stringify(value))).toEqual(withoutMinusZero(value));
      }),
      { numRuns: 1000 },
    );
  });
});

/** JSON knows no minus zero: it arrives as 0. */
function withoutMinusZero(value: unknown): unknown {
  if (typeof value === 'number') return value + 0;
  if (Array.isArray(value)) return value.map(withoutMinusZero);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutMinusZero(member)]));
}
