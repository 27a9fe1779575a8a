/** Wrong requests: who asks, for what, and how. */

import { keys } from './kit.ts';
import { bodies } from './wrong-bodies.ts';
import { options } from './wrong-options.ts';
import { good, header, one, type Row } from './wrong-row.ts';

const credentials: Row[] = (
  [
    ['none', null],
    ['an empty header', ''],
    ['a scheme without a token', 'Bearer'],
    ['a scheme with spaces only', 'Bearer   '],
    ['an unknown token', 'Bearer nobody.0123456789abcdef0123456789'],
    ['a cut token', `Bearer ${keys.operator.slice(0, -1)}`],
    ['a longer token', `Bearer ${keys.operator}x`],
    ['a token in capitals', `Bearer ${keys.operator.toUpperCase()}`],
    ['a bare token', keys.operator],
    ['Basic', `Basic ${Buffer.from(`operator:${keys.operator}`).toString('base64')}`],
    ['Digest', 'Digest username="operator"'],
    ['two tokens', `Bearer ${keys.operator} ${keys.acme}`],
    ['two headers in one', `Bearer ${keys.operator}, Bearer ${keys.acme}`],
    ['a quoted token', `Bearer "${keys.operator}"`],
    ['the id of a key', 'Bearer operator'],
  ] as const
).map(([what, authorization]) => [
  `credential: ${what}`,
  one,
  { body: good, key: null, ...(authorization !== null && { headers: { authorization } }) },
  401,
  'UNAUTHORIZED',
  /Send the header "Authorization: Bearer <key>"/,
]);

const closed: Row[] = (
  [
    ['GET', '/jobs/job-1'],
    ['DELETE', '/jobs/job-1'],
    ['PATCH', '/jobs/job-1'],
    ['GET', '/jobs/job-1/result'],
    ['POST', '/jobs'],
    ['GET', '/openapi.json'],
    ['GET', '/'],
    ['GET', '/nothing'],
    ['PUT', '/jobs/job-1'],
    ['POST', '/healthz'],
  ] as const
).map(([method, path]) => [
  `no credential for ${method} ${path}`,
  path,
  { method, key: null },
  401,
  'UNAUTHORIZED',
  /Authorization: Bearer/,
]);

const bound: Row[] = [
  ['a job of others', one, { body: good, key: keys.reporter }, 403, 'FORBIDDEN', /Ask for a credential/],
  [
    'a job that may not exist',
    '/jobs/no.such',
    { body: {}, key: keys.reporter },
    403,
    'FORBIDDEN',
    /Ask for/,
  ],
  [
    'only jobs of others',
    '/jobs',
    { body: [{ job: 'invoice.send', payload: good }], key: keys.reporter },
    403,
    'FORBIDDEN',
    /"results"/,
  ],
  header('sec-fetch-site', 'cross-site', 403, 'FORBIDDEN', /from your server/),
  header('sec-fetch-site', 'same-site', 403, 'FORBIDDEN', /from your server/),
  header('sec-fetch-site', 'anything', 403, 'FORBIDDEN', /from your server/),
  [
    'a preflight',
    one,
    { method: 'OPTIONS', key: null, headers: { 'sec-fetch-site': 'cross-site' } },
    403,
    'FORBIDDEN',
    /from your server/,
  ],
];

const paths: Row[] = (
  [
    '/',
    '/job',
    '/jobs//',
    '/jobs/a/b',
    '/Jobs/invoice.send',
    '//jobs',
    '/jobs/invoice.send//',
    '/openapi.yaml',
    '/api/jobs',
    '/.env',
    '/metrics',
  ] as const
).map((path) => [`path ${path}`, path, { body: good }, 404, 'NOT_FOUND', /openapi\.json lists them/]);

const names: Row[] = [
  'no.such',
  'INVOICE.SEND',
  '__proto__',
  'constructor',
  'toString',
  '%00',
  'a%2Fb',
  '%F0%9F%9A%A2',
  'x'.repeat(300),
].map((name) => [
  `job ${name.slice(0, 20)}`,
  `/jobs/${name}`,
  { body: good },
  404,
  'UNKNOWN_JOB',
  /GET \/openapi\.json lists/,
]);

const ids: Row[] = [
  'no-such',
  '__proto__',
  'constructor',
  '%20',
  '%27%20OR%201=1',
  'a%2Fb',
  'x'.repeat(200),
].flatMap((id): Row[] => [
  [`GET of id ${id.slice(0, 20)}`, `/jobs/${id}`, {}, 404, 'NOT_FOUND', /it came with the 202/],
  [
    `DELETE of id ${id.slice(0, 20)}`,
    `/jobs/${id}`,
    { method: 'DELETE' },
    404,
    'NOT_FOUND',
    /it came with the 202/,
  ],
]);

const encodings: Row[] = ['GET', 'DELETE', 'POST'].map((method) => [
  `${method} with broken percent-encoding`,
  '/jobs/%zz',
  { method, ...(method === 'POST' && { body: good }) },
  400,
  'REQUEST',
  /encodeURIComponent/,
]);

const methods: Row[] = (
  [
    ['GET', '/jobs'],
    ['HEAD', '/jobs'],
    ['PUT', '/jobs'],
    ['PATCH', '/jobs'],
    ['DELETE', '/jobs'],
    ['PUT', one],
    ['POST', `${one}/result`],
    ['GET', `${one}/promote`],
    ['POST', '/openapi.json'],
    ['DELETE', '/openapi.json'],
    ['POST', '/healthz'],
    ['PUT', '/healthz'],
    ['BREW', '/jobs'],
  ] as const
).map(([method, path]) => [`${method} ${path}`, path, { method }, 405, 'REQUEST', /Use one of them/]);

const types: Row[] = (
  [
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/json-seq',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'json',
    '*/*',
    'application/json, text/plain',
  ] as const
).map((type) => [
  `content type ${type}`,
  one,
  { body: good, headers: { 'content-type': type } },
  415,
  'REQUEST',
  /Send "Content-Type: application\/json"/,
]);

export const rows: readonly Row[] = [
  ...credentials,
  ...closed,
  ...bound,
  ...paths,
  ...names,
  ...ids,
  ...encodings,
  ...methods,
  ...types,
  ...options,
  ...bodies,
  ['a schema that throws', '/jobs/broken.schema', { body: {} }, 500, 'INTERNAL', /requestId/],
];
