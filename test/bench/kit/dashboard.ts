/** What the pages of the dashboard ask for when there are a million jobs: over HTTP, on a real port, with a session. */

import * as z from 'zod';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { defineAlerts } from '../../../core/features/alerts/index.ts';
import { connect, createApp, defineJob, defineSchedule, keyRing } from '../../../core/index.ts';
import { createDashboard } from '../../../core/surfaces/dashboard/index.ts';
import { serveHttp } from '../../../local/serve.ts';
import { type Bench, limitRow, type Row } from './bench.ts';

const longestMs = 200;

/** By page, the calls that it makes. */
function pagesOf(id: string, deadId: string): Readonly<Record<string, readonly string[]>> {
  return {
    'every page': ['session', 'live'],
    overview: ['overview?last=live', 'overview?last=hour', 'overview?last=day', 'overview?last=month'],
    queues: ['queues'],
    jobs: [
      'jobs?max=100',
      'jobs?max=100&status=failed',
      'jobs?max=100&status=processing',
      'jobs?max=100&job=job3&queue=queue3',
      'jobs?max=100&tenantId=tenant3',
      'jobs?max=100&error=ECONNREFUSED',
      'jobs?max=100&worker=worker-3',
      'jobs?max=100&idempotencyKey=order:500',
      'jobs?max=100&idPrefix=01',
    ],
    job: [`jobs/${id}`],
    'dead letters': ['dead/groups', 'dead/groups?job=job3', 'dead/groups?error=nothing', 'dead?max=100'],
    'dead letter': [`dead/${deadId}`, `jobs/${deadId}`],
    schedules: ['schedules', 'schedules/nightly'],
    workers: ['workers'],
    alerts: ['alerts'],
    'audit log': ['audit?max=100'],
    capabilities: ['capabilities'],
  };
}

/** As the page does it: where nothing was found so far it looks further back, five times at most. */
async function show(ask: (path: string) => Promise<string>, path: string): Promise<void> {
  let after = '';
  for (let looks = 0; looks < 5; looks++) {
    const answer = JSON.parse(await ask(`${path}${after}`)) as {
      jobs?: [];
      letters?: [];
      next?: string | null;
    };
    const found = answer.jobs ?? answer.letters;
    if (found?.length !== 0 || typeof answer.next !== 'string') return;
    after = `&after=${encodeURIComponent(answer.next)}`;
  }
}

export async function dashboardPages(bench: Bench, backend: QueueBackend): Promise<Row[]> {
  const jobs = Array.from({ length: 7 }, (_, i) =>
    defineJob({ name: `job${i}`, queue: `queue${i}`, payload: z.any(), async handle() {} }),
  );
  const nightly = defineSchedule({ name: 'nightly', cron: '0 2 * * *', job: jobs[0]!, payload: null });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs, schedules: [nightly], alerts: defineAlerts({ to: [] }), signing });
  const client = connect(app, backend);
  const handler = createDashboard(client, { development: true });
  const server = await serveHttp(handler, { port: 0 });
  try {
    const entered = await fetch(handler.link(server.url), { redirect: 'manual' });
    const headers = { cookie: entered.headers.get('set-cookie')!.split(';')[0]! };
    const ask = async (path: string): Promise<string> => {
      const answer = await fetch(`${server.url}/api/${path}`, { headers });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
      return text;
    };
    const idIn = async (path: string): Promise<string> => /"id":"([^"]+)"/.exec(await ask(path))![1]!;
    const pages = pagesOf(await idIn('jobs?max=1'), await idIn('dead?max=1'));
    const rows: Row[] = [];
    for (const [page, paths] of Object.entries(pages)) {
      for (const path of paths) {
        const samples: number[] = [];
        for (let round = 0; round < bench.rounds; round++) {
          const began = performance.now();
          await show(ask, path);
          samples.push(performance.now() - began);
        }
        const worst = Math.max(...samples).toFixed(0);
        const name = path.replace(/\/[0-9a-f-]{36}/, '/:id');
        rows.push(limitRow(`1M jobs, ${page}: ${name}`, `ms, worst ${worst}`, samples, longestMs));
      }
    }
    return rows;
  } finally {
    handler.close();
    await server.close();
  }
}
