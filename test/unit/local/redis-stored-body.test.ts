/** How Redis stores bodies: every text comes back byte for byte, and an envelope takes little beside its payload. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { bodyFrom, storedBody } from '../../../local/backends/redis/stored-body.ts';

const vectors = JSON.parse(readFileSync('docs/envelope-vectors.json', 'utf8')) as Record<
  string,
  { text: string }[]
>;
const texts = ['valid', 'accepted', 'invalid'].flatMap((group) => vectors[group]!.map(({ text }) => text));
const [smallest] = texts as [string];

const id = '019bc0de-0000-7000-8000-000000000001';
const place = { id, queue: 'mail', job: 'invoice.send' };

function comesBack(body: string, { id, queue, job } = place): void {
  expect(bodyFrom(storedBody({ id, queue, job, body }), queue, id, JSON.stringify(job))).toBe(body);
}

it('keeps every vector of the envelope', () => {
  for (const text of texts) comesBack(text);
});

it('keeps an envelope that differs from ours in any one character', () => {
  for (let at = 0; at <= smallest.length; at++)
    for (const other of ['', '\n', '\t', '=', '"', '\\', '0', 'null', ',"queue":"mail","priority":5']) {
      comesBack(smallest.slice(0, at) + other + smallest.slice(at));
      comesBack(smallest.slice(0, at) + other + smallest.slice(at + 1));
    }
});

it.each([
  ['a text of another program', 'hello'],
  ['no text', ''],
  ['one that looks stored', '=5\t3'],
  ['one that looks escaped', '=\n=\n'],
])('keeps %s', (_, body) => comesBack(body));

it.each([
  ['another id', { ...place, id: 'another' }],
  ['another queue', { ...place, queue: 'another' }],
  ['another job', { ...place, job: 'another' }],
  ['a job with a quote', { ...place, job: '"invoice.send' }],
])('keeps an envelope that is stored for %s', (_, elsewhere) => comesBack(smallest, elsewhere));

it.each([
  ['a payload', smallest, '{"invoiceId":"1042"}'],
  ['no payload', smallest.replace(',"payload":{"invoiceId":"1042"}', ''), ''],
])('stores little of an envelope with %s besides it', (_, body, payload) => {
  const stored = storedBody({ ...place, body });
  expect(stored.endsWith(payload)).toBe(true);
  expect(stored.length - payload.length).toBeLessThan(75);
  comesBack(body);
});
