/** `longshore dashboard`: a link, a page, and an end. */

import { expect, it } from 'vitest';
import { writePage } from '../../../infra/dashboard/build.ts';
import { shopConfig, shopOn } from './kit.ts';
import { projects, runCli } from './spawned.ts';

const project = projects();

const addressIn = (stdout: string): string => /http:\S+/.exec(stdout)![0];

it('prints a link to the page, and ends its streams with itself', async () => {
  await writePage();
  const cwd = project({ 'longshore.config.ts': shopConfig });
  await runCli(cwd, 'enqueue greet {"name":"<b>Ada</b>"}');
  const seen: Record<string, unknown> = {};
  const ended = await runCli(cwd, 'dashboard --port 0', {
    when: /token=\S+\n/,
    async act(child, stdout) {
      const link = addressIn(stdout);
      const entered = await fetch(link, { redirect: 'manual' });
      const cookie = entered.headers.get('set-cookie')!.split(';')[0]!;
      const ask = (path: string) => fetch(new URL(path, link), { headers: { cookie } });
      seen.again = (await fetch(link, { redirect: 'manual' })).status;
      seen.page = await (await ask('/')).text();
      seen.jobs = await (await ask('/api/jobs')).json();
      const stream = await ask('/api/events');
      child.kill('SIGTERM');
      seen.stream = await stream.text();
    },
  });
  expect(ended).toMatchObject({ code: 0 });
  expect(ended.stderr).toContain('works once');
  expect(seen.again).toBe(410);
  expect(seen.page).toMatch(/<script type="module"[^>]* src="\.\/assets\//);
  expect(seen.jobs).toMatchObject({ jobs: [{ job: 'greet', status: 'pending' }], next: null });
  expect(seen.stream).toMatch(
    /^retry: 2000\n\nevent: live\ndata: \{"at":\d+,"queues":\[\{"queue":"default","ready":1,/,
  );
});

it('serves others only what the config lets them see', async () => {
  const cwd = project({ 'longshore.config.ts': shopConfig });
  const refused = await runCli(cwd, 'dashboard --host 0.0.0.0 --port 0');
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('export const dashboard = { authorize }');

  const open = project({
    'longshore.config.ts': `${shopConfig}
export const dashboard = {
  authorize: (request) => request.headers.get('x-user') === 'ada' ? { actor: 'ada', role: 'reader' } : null,
};`,
  });
  const statuses: number[] = [];
  const ended = await runCli(open, 'dashboard --host 0.0.0.0 --port 0 --json', {
    when: /"link":null/,
    async act(child, stdout) {
      const { port } = new URL((JSON.parse(stdout) as { url: string }).url);
      for (const user of ['ada', 'eve']) {
        const headers = { 'x-user': user };
        statuses.push((await fetch(`http://127.0.0.1:${port}/api/session`, { headers })).status);
      }
      child.kill('SIGTERM');
    },
  });
  expect(ended.code).toBe(0);
  expect(statuses).toEqual([200, 401]);
});

it('says why it shows nothing of a backend without administration', async () => {
  const plain = shopOn('(() => { const { admin, ...rest } = memory(); return rest; })()');
  const ended = await runCli(project({ 'longshore.config.ts': plain }), 'dashboard --port 0');
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('UNSUPPORTED: Backend "memory" cannot be shown in a dashboard');
});

it('refuses a wrong dashboard in the config', async () => {
  const wrong = `${shopConfig}\nexport const dashboard = { authorise: () => null };`;
  const ended = await runCli(project({ 'longshore.config.ts': wrong }), 'dashboard --port 0');
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('Expected the dashboard of longshore.config.ts to be { authorize');
});
