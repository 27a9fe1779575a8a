/** A small app behind an HTTP handler, on a queue in memory under a virtual clock, without sockets. */

import { expect } from 'vitest';
import * as z from 'zod';
import {
  type Client,
  connect,
  createApp,
  defineJob,
  keyRing,
  type LongshoreEvent,
} from '../../../core/index.ts';
import { createHttpHandler, type HttpHandler, type HttpOptions } from '../../../core/surfaces/http/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { type Answered, answered, expectClosed } from './answered.ts';

/** One per caller; long enough to be keys. */
export const keys = {
  operator: 'operator.0123456789abcdef0123456789',
  acme: 'acme.0123456789abcdef0123456789abc',
  globex: 'globex.0123456789abcdef0123456789a',
  reporter: 'reporter.0123456789abcdef012345678',
} as const;

export const invoice = defineJob({
  name: 'invoice.send',
  queue: 'mail',
  payload: z.object({
    invoiceId: z.string().min(1),
    copies: z.number().int().min(1).max(9).optional(),
  }),
  maxRetries: 5,
  async handle({ invoiceId }) {
    return { sent: invoiceId };
  },
});

export const report = defineJob({ name: 'report.nightly', payload: z.object({}), async handle() {} });

interface Tree {
  readonly children: readonly Tree[];
}
const tree: z.ZodType<Tree, Tree> = z.object({
  get children() {
    return z.array(tree);
  },
});
export const nested = defineJob({ name: 'tree.walk', payload: tree, async handle() {} });

export const broken = defineJob({
  name: 'broken.schema',
  payload: z.unknown().refine(() => {
    throw new TypeError('secret of the schema');
  }),
  async handle() {},
});

export function createBench(options: Partial<HttpOptions> = {}, wrap: (client: Client) => Client = (c) => c) {
  const clock = createVirtualClock();
  const events: LongshoreEvent[] = [];
  let ids = 0;
  const app = createApp({
    jobs: [invoice, report, nested, broken],
    accepts: { mail: [invoice] },
    clock,
    newId: () => `job-${++ids}`,
    random: () => 0.5,
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    on: (event) => event.type !== 'job.enqueued' && events.push(event),
  });
  const backend = memory({ clock });
  const client = wrap(connect(app, backend));
  const closed = 'apiKeys' in options || 'authorize' in options || 'development' in options;
  const apiKeys = [
    { id: 'operator', key: keys.operator },
    { id: 'acme-web', key: keys.acme, tenantId: 'acme' },
    { id: 'globex-web', key: keys.globex, tenantId: 'globex' },
    { id: 'reporter', key: keys.reporter, jobs: ['report.nightly'] },
  ];
  const handler = createHttpHandler(client, {
    rateLimit: false,
    ...(closed ? {} : { apiKeys }),
    ...options,
    testing: { newRequestId: () => 'made-id', ...options.testing },
  });
  return { app, backend, client, clock, events, handler, send: sender(handler) };
}

export interface Sent {
  readonly method?: string;
  /** @default the operator's; `null` = none */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes, text or a stream go as they are, anything else as JSON. */
  readonly body?: unknown;
}

export type Send = (path: string, sent?: Sent) => Promise<Answered>;

export function sender(handler: HttpHandler, origin = 'http://localhost'): Send {
  return async (path, { method, key = keys.operator, headers = {}, body } = {}) => {
    const raw =
      body === undefined ||
      typeof body === 'string' ||
      body instanceof Uint8Array ||
      body instanceof ReadableStream;
    const request = new Request(`${origin}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        body: (raw ? body : JSON.stringify(body)) as NonNullable<RequestInit['body']>,
        duplex: 'half',
      }),
    } as RequestInit);
    return answered(await handler(request));
  };
}

/** What every answer must have, whatever it says. */
export function expectSafe(answer: Answered): void {
  const { headers, status, body } = answer;
  expectClosed(answer);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('x-request-id')).toMatch(/^\S{1,128}$/);
  if (status < 400 || body === null) return;
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body).toMatchObject({
    type: `urn:longshore:error:${body.code}`,
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(/\.$/),
    requestId: headers.get('x-request-id'),
  });
}
