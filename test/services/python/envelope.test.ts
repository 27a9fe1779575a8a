/** The envelope is a format, not a library: a Python program that knows nothing of this code writes one that runs. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { keyRing, parseSigningKeys } from '../../../core/envelope/signing.ts';
import { defineJob } from '../../../core/kernel/app/job.ts';
import { bench, secret } from '../../unit/core/kit.ts';

const root = join(import.meta.dirname, '../../..');
const program = join(root, 'examples/python/producer.py');
const keys = `py-1:${Buffer.from(secret(3)).toString('base64')}`;
const ring = keyRing(parseSigningKeys(keys));

function python(args: readonly string[], input = ''): string {
  try {
    const env = { ...process.env, LONGSHORE_SIGNING_KEYS: `${keys},old:unused` };
    return execFileSync('python3', args, { env, input, encoding: 'utf8' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error('python3 is missing. Get it with: apt-get install -y python3 (or brew install python3)');
  }
}

const produce = (job: string, payload: unknown, queue: string): string =>
  python([program, job, JSON.stringify(payload), queue]);

describe('the Python producer', () => {
  const payload = { order: 'Größe 🚢 "quoted" \\ \u0000\u2028', lines: [1, -2.5, true, null, {}], 9: 'nine' };

  it('writes an envelope that is verified and runs', async () => {
    const seen: unknown[] = [];
    const imported = defineJob({
      name: 'order.import',
      queue: 'imports',
      payload: z.record(z.string(), z.unknown()),
      handle: (given, ctx) => void seen.push(given, ctx.attempt),
    });
    const b = bench({ jobs: [imported], signing: ring });
    await b.put(produce('order.import', payload, 'imports'), 'imports');
    expect(await b.next()).toMatchObject({ job: 'order.import', outcome: 'acked', error: null });
    expect(seen).toEqual([payload, 1]);
  });

  it('signs so that any change is noticed, and binds to its queue', async () => {
    const job = defineJob({ name: 'pay', queue: 'money', payload: z.any(), handle: () => {} });
    const b = bench({ jobs: [job], signing: ring });
    const text = produce('pay', { amount: 10 }, 'money');
    await b.put(text.replace('10', '99'), 'money');
    expect(await b.next()).toMatchObject({ outcome: 'rejected', error: { code: 'SIGNATURE' } });
    const elsewhere = bench({ jobs: [{ ...job, queue: 'mail' }], signing: ring });
    await elsewhere.put(text, 'mail');
    expect(await elsewhere.next()).toMatchObject({ outcome: 'rejected', error: { code: 'WRONG_QUEUE' } });
  });

  it('writes the members in our order and with our spelling', () => {
    const text = produce('a', { b: ['é', '🚢', '\n'] }, 'q');
    const { kid, ...rest } = readEnvelope(text, { ring, now: Date.now(), maxBytes: 10_000 }) as never as {
      kid: string;
    };
    expect(JSON.stringify(JSON.parse(text))).toBe(text);
    expect(Object.keys(rest).at(-1)).toBe('_sig');
    expect(kid).toBe('py-1');
  });
});

describe('the frozen vectors', () => {
  /** Reads the vectors as Python does and prints the names of those whose signature it would have made otherwise. */
  const check = `
import base64, hashlib, hmac, json, sys
for vector in json.load(sys.stdin)["valid"]:
    signed = vector["text"][:-75]
    mac = hmac.new(base64.b64decode(vector["key"]), signed.encode(), hashlib.sha256).hexdigest()
    if vector["text"] != signed + ',"_sig":"' + mac + '"}' or not signed.endswith(',"kid":"' + vector["kid"] + '"'):
        print(vector["name"])
`;

  it('are signed as Python would sign them', () => {
    expect(python(['-c', check], readFileSync(join(root, 'docs/envelope-vectors.json'), 'utf8'))).toBe('');
  });
});
