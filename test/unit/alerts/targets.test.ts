/** Where notices go: real servers on loopback that answer, refuse, hang and forget; nothing is lost, and no secret is shown. */

import { describe, expect, it } from 'vitest';
import { alert, sendTo, slack, webhook } from '../../../core/features/alerts/index.ts';
import { verifyWebhook } from '../../../core/jobs/index.ts';
import type { AlertTarget } from '../../../core/kernel/app/alerts.ts';
import { refusalText, startMs } from '../core/kit.ts';
import { httpServer, rawServer } from '../jobs/kit.ts';
import { minuteMs, saying, stats, watched } from './kit.ts';

const secret = 'a secret of 32 bytes or a few more';
const rules = [alert.backlog({ above: 2, forMs: 0 })];
const at = (port: number, path = '/hook') => `http://127.0.0.1:${port}${path}`;
const open = (port: number) => ({ allowPrivate: [`127.0.0.1:${port}`] });

/** Watched with this target and a backlog that fires at the first look. */
async function firing(to: AlertTarget | readonly AlertTarget[]) {
  const w = watched({ to, rules });
  await w.backlog(3);
  return w;
}

describe('a webhook', () => {
  it('is posted JSON, signed at the time of sending', async () => {
    const server = await httpServer((_, response) => response.end());
    const w = await firing(webhook({ url: at(server.port), signWith: secret, ...open(server.port) }));
    await w.look();
    const [{ method, url, headers, body }] = server.seen as [(typeof server.seen)[number]];
    expect([method, url, headers['content-type']]).toEqual(['POST', '/hook', 'application/json']);
    expect(JSON.parse(body)).toEqual({
      type: 'alerts',
      alerts: [
        {
          alert: 'QueueBacklogHigh',
          severity: 'warning',
          state: 'firing',
          subject: 'default',
          value: 3,
          text: '"default": 3 jobs wait, more than 2',
          since: new Date(startMs).toISOString(),
          at: new Date(startMs).toISOString(),
          reminder: false,
        },
      ],
    });
    const signature = { header: headers['longshore-signature'], body, now: startMs };
    expect(verifyWebhook({ ...signature, secret })).toBe(true);
    expect(verifyWebhook({ ...signature, secret: `${secret}!` })).toBe(false);
  });

  it('is given what it has refused together with what has come since, less and less often', async () => {
    let status = 500;
    const server = await httpServer((_, response) => response.writeHead(status).end());
    const w = await firing(webhook({ url: at(server.port), ...open(server.port) }));
    await w.look();
    expect(w.eventsOf('alert.failed')).toHaveLength(1);
    await w.clear();
    await w.minutes(16);
    // After 1, 2, 4 and 8 minutes.
    expect(server.seen).toHaveLength(5);
    expect(w.eventsOf('alert.failed')).toHaveLength(1);
    status = 204;
    await w.minutes(16);
    expect(server.seen).toHaveLength(6);
    const { alerts } = JSON.parse(server.seen.at(-1)!.body);
    expect(alerts.map(({ state }: { state: string }) => state)).toEqual(['firing', 'resolved']);
  });

  it('that has failed and works again is told of when it fails the next time', async () => {
    let status = 500;
    const server = await httpServer((_, response) => response.writeHead(status).end());
    const w = await firing(webhook({ url: at(server.port), ...open(server.port) }));
    await w.look();
    status = 200;
    await w.minutes(2);
    status = 500;
    await w.clear();
    await w.minutes(1);
    expect(w.eventsOf('alert.failed')).toHaveLength(2);
  });

  it.each([
    ['that hangs', 'has not answered within 5000 ms'],
    ['that sends its answer for ever', 'has not answered within 5000 ms'],
  ])('%s is left after 5 s, and keeps no other target waiting', async (how, message) => {
    let asked = () => {};
    const reached = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const server = await rawServer((socket) => {
      socket.once('data', () => {
        if (how.includes('for ever')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
        asked();
      });
    });
    const other: string[] = [];
    const w = await firing([
      webhook({ url: at(server.port), ...open(server.port) }),
      sendTo((notices) => void other.push(...notices.map(({ state }) => state))),
    ]);
    const looking = w.look();
    await reached;
    expect(other).toEqual(['firing']);
    w.clock.advance(5_000);
    await looking;
    const [event] = w.eventsOf('alert.failed');
    expect(event).toMatchObject({ target: 'webhook', error: { code: 'BACKEND' } });
    expect(event!.error.message).toContain(message);
  });

  it('is not followed where it redirects to', async () => {
    const elsewhere = await httpServer((_, response) => response.end());
    const server = await httpServer((_, response) =>
      response.writeHead(307, { location: at(elsewhere.port) }).end(),
    );
    const w = await firing(
      webhook({
        url: at(server.port),
        allowPrivate: [`127.0.0.1:${server.port}`, `127.0.0.1:${elsewhere.port}`],
      }),
    );
    await w.look();
    expect(elsewhere.seen).toEqual([]);
    expect(w.eventsOf('alert.failed')).toMatchObject([
      { error: { message: expect.stringContaining('307') } },
    ]);
  });

  it.each([
    ['http://hooks.example.com/x', 'expects an https URL, got http'],
    ['https://10.0.0.7/x', 'has the address "10.0.0.7" (private)'],
    ['https://169.254.169.254/latest/meta-data', 'cloud metadata'],
    ['https://user:pass@example.com/x', 'without user name and password'],
    ['file:///etc/passwd', 'the scheme http or https'],
    ['', 'an empty string'],
    [undefined, 'undefined'],
  ])('refuses the URL %j when it is defined', async (url, message) => {
    const text = await refusalText(() => webhook({ url: url as string }));
    expect(text).toMatch(/^CONFIG: webhook\(\)/);
    expect(text).toContain(message);
    expect(text).not.toMatch(/pass@|meta-data|passwd/);
  });

  it('refuses a name whose addresses are private', async () => {
    const lookup = async () => [{ address: '10.1.2.3', family: 4 }];
    const w = await firing(webhook({ url: 'https://hooks.example.com/T0/secret', testing: { lookup } }));
    await w.look();
    const [event] = w.eventsOf('alert.failed');
    expect(event!.error.message).toContain('"10.1.2.3" (private)');
    expect(JSON.stringify(event!.error.message)).not.toContain('secret');
  });

  it('refuses a secret that is short, without showing it', async () => {
    const text = await refusalText(() => webhook({ url: 'https://example.com/', signWith: 'too short' }));
    expect(text).toContain('at least 32 bytes');
    expect(text).not.toContain('too short');
  });
});

describe('slack', () => {
  it('is posted one text with a line per notice', async () => {
    const server = await httpServer((_, response) => response.end('ok'));
    const w = await firing(slack(at(server.port, '/services/T0/B0/xyz'), open(server.port)));
    await w.look();
    await w.clear();
    await w.minutes(1);
    const texts = server.seen.map(({ body }) => JSON.parse(body).text);
    expect(texts).toEqual([
      ':red_circle: FIRING *QueueBacklogHigh* (warning): "default": 3 jobs wait, more than 2 (since 2026-01-15T12:00:00.000Z)',
      ':large_green_circle: RESOLVED *QueueBacklogHigh* (warning): "default": 0 jobs wait, at most 2 (since 2026-01-15T12:00:00.000Z, until 2026-01-15T12:01:00.000Z)',
    ]);
  });

  it('is not made to ring by a text from outside', async () => {
    const server = await httpServer((_, response) => response.end('ok'));
    const w = watched({
      to: slack(at(server.port), open(server.port)),
      rules: [
        alert.custom({ name: 'Mine', summary: '<!channel> & <https://evil.example|here>', when: () => true }),
      ],
    });
    await w.look();
    const { text } = JSON.parse(server.seen[0]!.body);
    expect(text).toContain('&lt;!channel&gt; &amp; &lt;https://evil.example|here&gt;');
    expect(text).not.toContain('<');
  });

  it.each([
    ['an answer', (port: number) => at(port, '/services/T0/hush')],
    ['a connection', () => 'http://127.0.0.1:1/services/T0/hush'],
  ])('keeps its URL out of events and of the store when %s fails', async (_, url) => {
    const server = await httpServer((_, response) => response.writeHead(404).end('no_service /hush'));
    const to = slack(url(server.port), { allowPrivate: [`127.0.0.1:${server.port}`, '127.0.0.1:1'] });
    const w = await firing(to);
    await w.look();
    const [event] = w.eventsOf('alert.failed');
    expect(event!.error.message).toMatch(
      /^Target "slack" does not take alerts: Target "slack" (answered 404|failed)/,
    );
    expect(event!.error.cause).toBeUndefined();
    const { value } = (await w.client.stores.keys.claim('alerts:default', 'x', w.clock.now() + 1)) as {
      value: string;
    };
    expect(value).toContain('QueueBacklogHigh');
    expect(`${event!.error.stack} ${value}`).not.toContain('hush');
  });
});

describe('a function', () => {
  it('that throws is called again with the same, and its URL is not shown', async () => {
    const calls: number[] = [];
    const w = await firing(
      sendTo((notices) => {
        calls.push(notices.length);
        if (calls.length === 1) throw new Error('Failed to parse URL from https://hooks.example.com/hush');
      }),
    );
    await w.look();
    await w.minutes(2);
    expect(calls).toEqual([1, 1]);
    const [event] = w.eventsOf('alert.failed');
    expect(event!.error.message).toContain('Failed to parse URL from [URL]');
  });

  it('that never ends is left after 5 s, and its signal aborts', async () => {
    let signal: AbortSignal | undefined;
    let called = () => {};
    const reached = new Promise<void>((resolve) => {
      called = resolve;
    });
    const w = await firing(
      sendTo((_, given) => {
        signal = given;
        called();
        return new Promise(() => {});
      }),
    );
    const looking = w.look();
    await reached;
    w.clock.advance(5_000);
    await looking;
    expect(signal?.aborted).toBe(true);
    expect(w.eventsOf('alert.failed')).toHaveLength(1);
  });
});

describe('targets', () => {
  it('get notices of their severity only', async () => {
    const seen: string[] = [];
    const noting = (name: string, severity?: 'warning' | 'critical') =>
      sendTo(
        (notices) => void seen.push(...notices.map(({ alert }) => `${name} ${alert}`)),
        severity ? { name, severity } : { name },
      );
    const w = watched({
      to: [noting('all'), noting('pager', 'critical')],
      rules: [alert.backlog({ above: 2, forMs: 0 }), alert.stuck({ above: 5, forMs: 0 })],
    });
    const client = saying(w.client, stats({ ready: 3, oldestReadyMs: 6 }));
    await w.alerts.evaluate(client, 'worker');
    expect(seen.toSorted()).toEqual(['all QueueBacklogHigh', 'all QueueJobStuck', 'pager QueueJobStuck']);
  });

  it('are bounded: hundreds of alerts are no hundreds of requests, and no text that a store cannot keep', async () => {
    let requests = 0;
    const w = watched({
      to: sendTo(() => {
        requests++;
        throw new Error('no');
      }),
      rules,
    });
    const queues = (ready: number) =>
      Array.from({ length: 500 }, (_, i) => stats({ queue: `queue-with-a-long-name-${i}`, ready }));
    for (let i = 0; i < 60; i++) {
      await w.alerts.evaluate(saying(w.client, ...queues(i % 2 === 0 ? 9 : 0)), 'worker');
      w.clock.advance(minuteMs);
    }
    expect(requests).toBe(6); // at 0, 1, 3, 7, 15 and 31 minutes
    const { value } = (await w.client.stores.keys.claim('alerts:default', 'x', w.clock.now() + 1)) as {
      value: string;
    };
    expect(value.length).toBeLessThan(32_000);
  });
});
