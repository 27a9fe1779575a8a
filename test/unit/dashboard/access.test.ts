/** Who is let in: one-time links in development, the application's own authorize elsewhere, and nobody else. */

import { describe, expect, it } from 'vitest';
import { queueRulesOf } from '../../../core/kernel/app/queues.ts';
import { createDashboard, type DashboardOptions, dashboard } from '../../../core/surfaces/dashboard/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { serveHttp } from '../../../local/serve.ts';
import { asker, createBench, createShop, enter, expectSafe, origin } from './kit.ts';

const secret = 'a secret of at least thirty-two characters';
const linkForMs = 15 * 60_000;

describe('a dashboard', () => {
  it.each<[string, unknown, RegExp]>([
    ['nothing', {}, /exactly one of authorize and development.*got none/],
    ['both', { authorize: () => null, development: true }, /got both/],
    ['no function', { authorize: 'everybody' }, /authorize of the dashboard to be a function/],
    ['a short secret', { development: { secret: 'short' } }, /at least 32 characters, got 5/],
    ['no object', { development: false }, /development of the dashboard to be true or an object/],
    ['an empty actor', { development: { actor: '' } }, /development.actor/],
    ['faults for others', { authorize: () => null, faults: { list: [] } }, /in development only/],
    ['a slash at the end', { development: true, basePath: '/jobs/' }, /basePath/],
    [
      'an origin with a path',
      { development: true, origin: 'https://a.example/jobs' },
      /origin of the dashboard/,
    ],
  ])('is not made with %s', (_, options, message) => {
    const { client } = createShop();
    expect(() => createDashboard(client, options as DashboardOptions)).toThrow(message);
  });

  it('is made of an app and its backend', async () => {
    const { client, clock } = createShop();
    const ask = asker(dashboard(client.app, memory({ clock }), { authorize: () => null }));
    expect((await ask('/api/session')).status).toBe(401);
  });

  it('is made of an app with several backends, and shows the first one', async () => {
    const { client, clock } = createShop();
    const app = { ...client.app, queueRules: queueRulesOf({ bulk: { backend: 'fast' } }) };
    const authorize = () => ({ actor: 'ada', role: 'reader' }) as const;
    expect(() => dashboard(app, memory({ clock }), { authorize })).toThrow('"bulk" uses backend "fast"');
    const backends = { default: { ...memory({ clock }), name: 'first' }, fast: memory({ clock }) };
    const ask = asker(dashboard(app, backends, { authorize, failover: { fast: 'default' } }));
    expect(JSON.stringify((await ask('/api/session')).body)).toContain('first');
  });

  it('in development is not served to others', async () => {
    const { handler } = createBench();
    await expect(serveHttp(handler, { port: 0, host: '0.0.0.0' })).rejects.toThrow('loopback');
  });

  it('has no links where authorize decides', () => {
    const { handler } = createBench({ authorize: () => null });
    expect(handler.developmentToken).toBeNull();
    expect(() => handler.link(origin)).toThrow('has no links');
  });
});

describe('a link', () => {
  it('is exchanged for a session once, and leads to an address without it', async () => {
    const { handler, ask } = createBench();
    const link = handler.link(`${origin}/`);
    expect(link).toMatch(/^http:\/\/localhost:4020\/\?token=[\w-]{32}$/);
    const entered = await ask(link);
    expectSafe(entered);
    expect(entered.status).toBe(303);
    expect(entered.headers.get('location')).toBe('./');
    const cookie = entered.headers.get('set-cookie')!;
    expect(cookie).toMatch(/^longshore-4020=\S+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=604800$/);

    const again = await ask(link);
    expectSafe(again);
    expect(again.status).toBe(410);
    expect(again.text).toContain('was already used or has expired');
    expect(again.text).toContain('Start the dashboard again');
    const headers = { cookie: cookie.split(';')[0]! };
    expect((await ask('/api/session', { headers })).body).toMatchObject({
      actor: 'development',
      role: 'operator',
      backend: 'memory',
      app: { jobs: ['mail.send'], queues: ['mail'], schedules: ['hourly'] },
    });
    // Who has a session is led on: nothing is wrong with opening the link twice.
    expect((await ask(link, { headers })).status).toBe(303);
  });

  it('expires, and one that never was is refused alike', async () => {
    const { handler, ask, clock } = createBench();
    const link = handler.link(origin);
    clock.advance(linkForMs);
    const expired = await ask(link);
    const invented = await ask(`/?token=${'x'.repeat(32)}`);
    expect([expired.status, invented.status]).toEqual([410, 410]);
    expect(invented.text).toBe(expired.text);
  });

  it('is not used up by what a browser loads in advance', async () => {
    const { handler, ask } = createBench();
    const link = handler.link(origin);
    expect((await ask(link, { method: 'HEAD' })).status).toBe(204);
    expect((await ask(link, { headers: { 'sec-purpose': 'prefetch;prerender' } })).status).toBe(204);
    expect((await ask(link)).status).toBe(303);
  });

  it('says how to get another one in the words of who serves it', async () => {
    const { ask } = createBench({ development: { anotherLink: 'Press <Enter>.' } });
    expect((await ask('/?token=x')).text).toContain('Press &lt;Enter&gt;.');
  });
});

describe('a session', () => {
  it('outlives a restart with the same secret, and no other', async () => {
    const { client } = createShop();
    const start = (given: string) => createDashboard(client, { development: { secret: given } });
    const headers = await enter(start(secret));
    expect((await asker(start(secret))('/api/live', { headers })).status).toBe(200);
    expect((await asker(start(`${secret}!`))('/api/live', { headers })).status).toBe(401);
  });

  it('ends after a week, and cannot be made longer', async () => {
    const { handler, ask, clock } = createBench();
    const headers = await enter(handler);
    const later = headers.cookie.replace(/\.(\d+)\./, (_, end) => `.${Number(end) + 1}.`);
    expect((await ask('/api/live', { headers: { cookie: later } })).status).toBe(401);
    expect((await ask('/api/live', { headers: { cookie: `other=1; ${headers.cookie}` } })).status).toBe(200);
    clock.advance(7 * 86_400_000);
    const over = await ask('/api/live', { headers });
    expectSafe(over);
    expect(over.body).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
  });

  it('is asked for by every path', async () => {
    const { ask } = createBench();
    for (const path of [
      '/',
      '/assets/x.js',
      '/api/session',
      '/api/events',
      '/api/jobs',
      '/api/nope',
      '/nope',
    ]) {
      const answer = await ask(path);
      expectSafe(answer);
      expect([path, answer.status]).toEqual([path, 401]);
    }
  });

  it.each(['evil.example', 'localhost.evil.example:4020', '10.0.0.7'])(
    'is answered under names of this machine only, not as %s',
    async (host) => {
      const { handler, ask } = createBench();
      const headers = await enter(handler);
      const named = await ask('/api/live', { headers: { ...headers, host } });
      expect(named.body).toMatchObject({ status: 403, code: 'FORBIDDEN' });
      expect((await asker(handler, `http://${host}`)('/api/live', { headers })).status).toBe(403);
    },
  );
});

describe('authorize', () => {
  it('decides for each request, and names who acts', async () => {
    const { ask } = createBench({
      async authorize(request) {
        const actor = request.headers.get('x-user');
        return actor === null ? null : { actor, role: 'reader' };
      },
    });
    const refused = await ask('/');
    expectSafe(refused);
    expect(refused).toMatchObject({
      status: 401,
      text: expect.stringContaining('Sign in to the application'),
    });
    const let_in = await ask('/api/session', { headers: { 'x-user': 'ada' } });
    expect(let_in.body).toMatchObject({ actor: 'ada', role: 'reader' });
  });

  it('is no way in when it fails', async () => {
    const { ask, events } = createBench({
      authorize: () => Promise.reject(new Error('secret of the session store')),
    });
    const answer = await ask('/api/session');
    expectSafe(answer);
    expect(answer.body).toMatchObject({ status: 503, code: 'INTERNAL' });
    expect(answer.text).not.toContain('secret of');
    expect(events).toContainEqual(expect.objectContaining({ type: 'http.failed', status: 503 }));
  });

  it.each([
    undefined,
    true,
    {},
    { actor: 'ada' },
    { actor: '', role: 'reader' },
    { actor: 'ada', role: 'admin' },
  ])('must not answer %j', async (user) => {
    const { ask } = createBench({ authorize: () => user as never });
    const answer = await ask('/api/session');
    expect(answer.body).toMatchObject({ status: 500, code: 'CONFIG' });
    expect(answer.body.detail).toContain("role: 'operator' or 'reader'");
  });
});
