/**
 * How a body is stored: an envelope of our own without the names of its members, and without what the key, the field and the rest of the
 * text say already. `=` and the number of a layout, then its values with a tab between two, nothing for the usual one; then a line feed and
 * the payload, if there is one. Every other body is stored as it is, with `=` and a line feed before it if it begins with `=`.
 */

import type { OutgoingMessage } from '../../../core/contract/queue.ts';

type Signed = Pick<OutgoingMessage, 'id' | 'queue' | 'job' | 'body'>;

/**
 * The texts that follow the values, in the order in which envelopes are written. The first layout is for the many envelopes without further members,
 * and the fewer texts to join the quicker. In the second one, members that only some have are part of the context.
 */
const layouts: readonly (readonly string[])[] = [
  [
    ',"maxRetries":',
    ',"attempts":0,"name":null,"identifier":"',
    '","idempotencyKey":null,"schedule":null,"issuedAt":',
    ',"expiresAt":null,"context":null,"kid":"',
  ],
  [
    ',"maxRetries":',
    ',"attempts":0,"name":',
    ',"identifier":"',
    '","idempotencyKey":',
    ',"schedule":',
    ',"issuedAt":',
    ',"expiresAt":',
    ',"context":',
    ',"kid":"',
  ],
];
const beforePayload = ',"payload":';
const beforeSignature = '","_sig":"';
const signatureLength = 64;
const end = '"}';
const hex64 = /^[0-9a-f]{64}$/;
/** Names that need no escape in JSON. */
const plainName = /^[\w.-]+$/;

export function storedBody(message: Signed): string {
  const { body } = message;
  return shortened(message) ?? (body.startsWith('=') ? `=\n${body}` : body);
}

/** `null` = it is no envelope of our own. */
function shortened({ id, queue, job, body }: Signed): string | null {
  const front = frontOf(`"${job}"`, queue);
  const signatureAt = body.length - end.length - signatureLength;
  const signedEnd = signatureAt - beforeSignature.length;
  if (!body.startsWith(front.job) || !body.startsWith(beforeSignature, signedEnd) || !body.endsWith(end))
    return null;
  const hasPayload = body.startsWith(beforePayload, front.job.length);
  const from = hasPayload ? front.job.length + beforePayload.length : front.job.length;
  const to = body.indexOf(front.queue, from);
  const isGap = to > from;
  if (to === -1 || isGap !== hasPayload || body.indexOf('\t', to) !== -1 || body.indexOf('\n', to) !== -1)
    return null;
  const signature = body.slice(signatureAt, -end.length);
  if (!hex64.test(signature) || !plainName.test(job)) return null;
  const values = body.slice(to + front.queue.length, signedEnd);
  const head = valuesIn(values, 0, id) ?? valuesIn(values, 1, id);
  if (head === null) return null;
  const signed = head + Buffer.from(signature, 'hex').toString('base64url');
  return hasPayload ? `${signed}\n${body.slice(from, to)}` : signed;
}

/** The values in this layout, each with a tab behind it; `null` = it is not in this layout. */
function valuesIn(text: string, layout: number, id: string): string | null {
  let head = `=${layout}`;
  let at = 0;
  for (const name of layouts[layout]!) {
    const next = text.indexOf(name, at);
    if (next <= at) return null;
    const value = text.slice(at, next);
    head += value === usual(name, id) ? '\t' : `${value}\t`;
    at = next + name.length;
  }
  return at === text.length ? null : `${head}${text.slice(at)}\t`;
}

/** @param name what follows the value */
const usual = (name: string, id: string): string => (name.startsWith('"') ? id : 'null');

/** @param job its name in JSON */
export function bodyFrom(stored: string, queue: string, id: string, job: string): string {
  if (!stored.startsWith('=')) return stored;
  const lineEnd = stored.indexOf('\n');
  if (lineEnd === 1) return stored.slice(2);
  const names = layouts[Number(stored[1])];
  const values = stored.slice(2, lineEnd === -1 ? stored.length : lineEnd).split('\t');
  if (values.length !== (names?.length ?? 0) + 2) return stored; // another program has written it
  const front = frontOf(job, queue);
  let body = front.job;
  if (lineEnd !== -1) body += beforePayload + stored.slice(lineEnd + 1);
  body += front.queue;
  for (let i = 0; i < names!.length; i++) body += (values[i] || usual(names![i]!, id)) + names![i]!;
  const signature = Buffer.from(values.at(-1)!, 'base64url').toString('hex');
  return body + values.at(-2)! + beforeSignature + signature + end;
}

/** Most texts of a process are of one job and queue. */
let known = { jobName: '', queueName: '', job: '', queue: '' };

/** The text before the payload of an envelope, and the text after it. */
function frontOf(job: string, queue: string): { readonly job: string; readonly queue: string } {
  if (known.jobName !== job || known.queueName !== queue)
    known = {
      jobName: job,
      queueName: queue,
      job: `{"v":1,"job":${job}`,
      queue: `,"queue":"${queue}","priority":`,
    };
  return known;
}
