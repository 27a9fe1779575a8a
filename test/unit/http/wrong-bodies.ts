/** Bodies that are wrong, of one job and of many. */

import { good, header, one, type Row } from './wrong-row.ts';

const tree = (depth: number): string => `${'{"children":['.repeat(depth)}${']}'.repeat(depth)}`;
const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);

const body = (what: string, text: unknown, status: number, code: string, says: RegExp): Row => [
  `body ${what}`,
  one,
  { body: text },
  status,
  code,
  says,
];

const single: Row[] = [
  header('content-encoding', 'gzip', 415, 'REQUEST', /uncompressed/),
  header('content-encoding', 'br', 415, 'REQUEST', /uncompressed/),
  header('content-length', 'many', 400, 'REQUEST', /Leave the header/),
  header('content-length', '-1', 400, 'REQUEST', /Leave the header/),
  header('content-length', '99999999', 413, 'LIMIT', /send its id/),
  [
    'no body',
    one,
    { method: 'POST', headers: { 'content-type': 'application/json' } },
    400,
    'REQUEST',
    /Send at least null or \{\}/,
  ],
  ['no body and no type', one, { method: 'POST' }, 415, 'REQUEST', /Content-Type: application\/json/],
  body('empty', '', 400, 'REQUEST', /Send at least null/),
  body('blank', '  ', 400, 'REQUEST', /JSON linter/),
  body('cut', '{"invoiceId":"1', 400, 'REQUEST', /JSON linter/),
  body('a comma too many', '{"invoiceId":"1",}', 400, 'REQUEST', /JSON linter/),
  body('single quotes', "{'invoiceId':'1'}", 400, 'REQUEST', /JSON linter/),
  body('a comment', '{"invoiceId":"1"}//', 400, 'REQUEST', /JSON linter/),
  body('two documents', '{}{}', 400, 'REQUEST', /JSON linter/),
  body('NaN', '{"invoiceId":NaN}', 400, 'REQUEST', /JSON linter/),
  body('a form', 'invoiceId=1', 400, 'REQUEST', /JSON linter/),
  body('Latin-1', bytes(0x22, 0xe9, 0x22), 400, 'REQUEST', /UTF-8/),
  body('UTF-16', bytes(0xff, 0xfe, 0x7b, 0x00), 400, 'REQUEST', /UTF-8/),
  body('an overlong encoding', bytes(0x22, 0xc0, 0xaf, 0x22), 400, 'REQUEST', /UTF-8/),
  body('a lone surrogate in bytes', bytes(0x22, 0xed, 0xa0, 0x80, 0x22), 400, 'REQUEST', /UTF-8/),
  body('too large', JSON.stringify({ invoiceId: 'x'.repeat(1_100_000) }), 413, 'LIMIT', /send its id/),
  body(
    'too large for an envelope',
    JSON.stringify({ invoiceId: 'x'.repeat(1_048_400) }),
    413,
    'LIMIT',
    /send its id/,
  ),
  body('null', 'null', 422, 'PAYLOAD', /openapi\.json/),
  body('a number', '5', 422, 'PAYLOAD', /expected object/i),
  body('a text', '"1042"', 422, 'PAYLOAD', /expected object/i),
  body('a list', [good], 422, 'PAYLOAD', /expected object/i),
  body('without a member', {}, 422, 'PAYLOAD', /invoiceId/),
  body('with a wrong member', { invoiceId: 1042 }, 422, 'PAYLOAD', /invoiceId: .*string/),
  body('with an empty member', { invoiceId: '' }, 422, 'PAYLOAD', /invoiceId/),
  body('with a number that is too large', { invoiceId: '1', copies: 1e6 }, 422, 'PAYLOAD', /copies/),
  body(
    'with __proto__',
    '{"invoiceId":"1","__proto__":{"admin":true}}',
    422,
    'PAYLOAD',
    /"__proto__" is not accepted/,
  ),
  body(
    'with __proto__ deep inside',
    '{"invoiceId":"1","x":[{"__proto__":1}]}',
    422,
    'PAYLOAD',
    /"__proto__" is not accepted/,
  ),
  ['nesting of 65 levels', '/jobs/tree.walk', { body: tree(33) }, 422, 'LIMIT', /Send flatter data/],
  [
    'nesting of 100,000 levels',
    '/jobs/tree.walk',
    { body: `${'['.repeat(100_000)}${']'.repeat(100_000)}` },
    422,
    'LIMIT',
    /Send flatter data/,
  ],
];

const many = (what: string, text: unknown, status: number, code: string, says: RegExp): Row => [
  `many: ${what}`,
  '/jobs',
  { body: text },
  status,
  code,
  says,
];
const batches: Row[] = [
  many('an object', { job: 'invoice.send', payload: good }, 422, 'REQUEST', /a list of at least one/),
  many('null', 'null', 422, 'REQUEST', /got null/),
  many('nothing in the list', [], 422, 'REQUEST', /got an empty one/),
  many(
    'more than are taken',
    Array.from({ length: 1001 }, () => ({ job: 'report.nightly' })),
    413,
    'LIMIT',
    /several requests/,
  ),
  many('no JSON', '[', 400, 'REQUEST', /JSON linter/),
  [
    'many: a query',
    '/jobs?delayMs=5',
    { body: [{ job: 'report.nightly', payload: {} }] },
    400,
    'OPTION',
    /"options" of each item/,
  ],
  [
    'many: an idempotency key for all',
    '/jobs',
    { body: [{ job: 'report.nightly', payload: {} }], headers: { 'idempotency-key': 'k' } },
    400,
    'OPTION',
    /"options" of each item/,
  ],
];

export const bodies: readonly Row[] = [...single, ...batches];
