/** `longshore alerts` and what it says of conditions, and its test messages to targets. */

import { describe, expect, it } from 'vitest';
import { httpServer } from '../../unit/jobs/kit.ts';
import { cli, from, imports, json, project } from './kit.ts';

const config = (port: number, more = '') => `${imports}
import { alert, defineAlerts, sendTo, slack } from ${from('core/features/alerts/index.ts')};
const greet = defineJob({ name: 'greet', payload: z.object({}), async handle() {} });
export const app = createApp({
  jobs: [greet],
  alerts: defineAlerts({
    to: [
      slack('http://127.0.0.1:${port}/services/hush', { allowPrivate: ['127.0.0.1:${port}'] }),
      sendTo(() => {}, { name: 'code' }),
    ],
    rules: [
      ${more}
      alert.backlog({ above: 2 }),
      alert.depth({ above: 2, forMs: 0 }),
      alert.custom({ name: 'Blind', when: () => { throw new Error('no such table'); } }),
    ],
  }),
});
export const backend = () => sqlite(import.meta.dirname + '/jobs.db');
`;

/** @param more rules, as code */
async function shop(more = '') {
  const server = await httpServer((_, response) => response.end('ok'));
  const cwd = project({ 'longshore.config.ts': config(server.port, more) });
  return { cwd, server };
}

/** As `alert state`. */
const shown = (data: unknown): string[] =>
  (data as { alerts: { alert: string; state: string }[] }).alerts.map(
    ({ alert, state }) => `${alert} ${state}`,
  );

describe('alerts', () => {
  it('shows each condition as it is now, and what the last evaluation has left', async () => {
    const { cwd, server } = await shop();
    const before = await json(cwd, ['alerts']);
    expect(before.data).toMatchObject({ evaluatedAt: null });
    expect(shown(before.data)).toEqual(['Blind unknown']);
    for (let i = 0; i < 3; i++) await cli(cwd, ['enqueue', 'greet', '{}']);
    expect(shown((await json(cwd, ['alerts'])).data)).toEqual([
      'QueueBacklogHigh pending',
      'QueueDepthHigh pending',
      'Blind unknown',
    ]);
    expect(server.seen).toEqual([]);
    await cli(cwd, ['tick']);
    expect(server.seen).toHaveLength(1);
    const after = await json(cwd, ['alerts']);
    expect(shown(after.data)).toEqual(['QueueBacklogHigh pending', 'QueueDepthHigh firing', 'Blind unknown']);
    expect(after.data!.evaluatedAt).toEqual(expect.any(Number));
    const { stdout, code } = await cli(cwd, ['alerts']);
    expect(code).toBe(0);
    expect(stdout).toContain('QueueDepthHigh');
    expect(stdout).toContain('"default": 3 jobs are in the queue, more than 2');
    expect(stdout).toContain('no such table');
    expect(stdout).toMatch(/Evaluated .* ago\./);
  });

  it('are evaluated by a worker, soon after it has started', async () => {
    const { cwd, server } = await shop();
    for (let i = 0; i < 3; i++) await cli(cwd, ['enqueue', 'greet', '{}', '--delay', '1h']);
    const hungUp = new AbortController();
    const working = cli(cwd, ['work'], { hungUp: hungUp.signal });
    await expect.poll(() => server.seen.length).toBe(1);
    expect(server.seen[0]!.body).toContain('FIRING *QueueDepthHigh*');
    hungUp.abort();
    await working;
  });

  it('tells by a tick that no worker runs, and goes on showing it', async () => {
    const { cwd, server } = await shop('alert.withoutWorker({ forMs: 0 }),');
    await cli(cwd, ['tick']);
    expect(server.seen[0]!.body).toContain('FIRING *QueueWithoutWorker*');
    expect(shown((await json(cwd, ['alerts'])).data)).toContain('QueueWithoutWorker firing');
  });

  it('exits 3 for an app without any', async () => {
    const ended = await json(project(), ['alerts']);
    expect(ended.code).toBe(3);
    expect(ended.stderr).toContain('The app has no alerts');
  });
});

describe('alerts --test', () => {
  it('sends a message that says it is a test', async () => {
    const { cwd, server } = await shop();
    const { code, data } = await json(cwd, ['alerts', '--test', 'slack']);
    expect([code, data]).toEqual([0, { target: 'slack', sent: true }]);
    expect(JSON.parse(server.seen[0]!.body).text).toBe(
      ':white_circle: TEST *Test* (warning): A test message of longshore alerts. Nothing is wrong.',
    );
  });

  it('exits 1 when the target does not take it, without its URL', async () => {
    const server = await httpServer((_, response) => response.writeHead(403).end());
    const cwd = project({ 'longshore.config.ts': config(server.port) });
    const { code, stderr } = await cli(cwd, ['alerts', '--test', 'slack']);
    expect(code).toBe(1);
    expect(stderr).toContain('answered 403');
    expect(stderr).not.toContain('hush');
  });

  it('exits 3 for a target that is not there, and names the nearest', async () => {
    const { cwd } = await shop();
    const { code, stderr } = await cli(cwd, ['alerts', '--test', 'slac']);
    expect(code).toBe(3);
    expect(stderr).toContain('"slack"');
  });
});
