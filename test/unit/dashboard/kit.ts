/** A dashboard on a queue in memory under a virtual clock, without sockets. */

import { expect } from 'vitest';
import * as z from 'zod';
import {
  type Client,
  connect,
  createApp,
  defineJob,
  defineSchedule,
  keyRing,
  type LongshoreEvent,
} from '../../../core/index.ts';
import {
  createDashboard,
  type DashboardHandler,
  type DashboardOptions,
} from '../../../core/surfaces/dashboard/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { type Answered, answered, expectClosed } from '../http/answered.ts';

export const send = defineJob({
  name: 'mail.send',
  queue: 'mail',
  payload: z.object({ to: z.string(), password: z.string().optional() }),
  keepPayload: true,
  async handle() {},
});
const hourly = defineSchedule({
  name: 'hourly',
  cron: '0 * * * *',
  timezone: 'Europe/Berlin',
  job: send,
  payload: { to: 'all' },
});

export const origin = 'http://localhost:4020';

export function createShop() {
  const clock = createVirtualClock();
  const events: LongshoreEvent[] = [];
  let ids = 0;
  const app = createApp({
    jobs: [send],
    schedules: [hourly],
    clock,
    newId: () => `job-${++ids}`,
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    on: (event) => events.push(event),
  });
  return { clock, events, client: connect(app, memory({ clock })) };
}

/** @param wrap changes the client that the dashboard sees */
export function createBench(
  options: Partial<DashboardOptions> = {},
  wrap: (client: Client) => Client = (client) => client,
) {
  const shop = createShop();
  const client = wrap(shop.client);
  const closed = 'authorize' in options || 'development' in options;
  const handler = createDashboard(client, {
    ...(closed ? {} : { development: true }),
    ...options,
    testing: { newRequestId: () => 'made-id', ...options.testing },
  });
  return { ...shop, client, handler, ask: asker(handler) };
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export type Ask = (path: string, asked?: Asked) => Promise<Answered>;

export const asker =
  (handler: DashboardHandler, at = origin): Ask =>
  async (path, { method, headers = {}, body } = {}) => {
    return answered(
      await handler(
        new Request(new URL(path, at), {
          method: method ?? (body === undefined ? 'GET' : 'POST'),
          headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      ),
    );
  };

/** The cookie of a session that a link was exchanged for. */
export async function enter(handler: DashboardHandler, at = origin): Promise<{ readonly cookie: string }> {
  const entered = await handler(new Request(handler.link(at)));
  expect(entered.status).toBe(303);
  return { cookie: entered.headers.get('set-cookie')!.split(';')[0]! };
}

/** What a page of a session sends with a change. */
export async function pageHeaders(ask: Ask, identity: Readonly<Record<string, string>>) {
  const { body } = await ask('/api/session', { headers: identity });
  return {
    ...identity,
    origin,
    'sec-fetch-site': 'same-origin',
    'x-longshore-token': body.token as string,
  };
}

/** What every answer must have, whatever it says. */
export function expectSafe(answer: Answered): void {
  const { headers, status, text, body } = answer;
  expectClosed(answer);
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
  expect(headers.get('x-request-id')).toBe('made-id');
  if (status < 400) return;
  expect(headers.get('cache-control')).toBe('no-store');
  if (body)
    expect(body).toMatchObject({ status, detail: expect.stringMatching(/\S\.?$/), requestId: 'made-id' });
  else expect(text).toContain('<!doctype html>');
}

export function expectWrongOption(answer: Answered, words: string): void {
  expectSafe(answer);
  expect(answer.body).toMatchObject({
    status: 400,
    code: 'OPTION',
    detail: expect.stringContaining(words),
  });
}
