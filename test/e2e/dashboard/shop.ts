/** A shop with a real worker and a dashboard, which can be killed and started again at its address. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import {
  connect,
  createApp,
  defineJob,
  defineSchedule,
  keyRing,
  PermanentError,
  startWorker,
} from '../../../core/index.ts';
import { createDashboard, type DashboardOptions } from '../../../core/surfaces/dashboard/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { serveHttp } from '../../../local/serve.ts';

interface ShopOptions {
  readonly backend?: QueueBackend;
  readonly store?: Partial<Stores>;
  readonly dashboard?: DashboardOptions;
}

/** Sessions outlive a restart of the dashboard. */
const development = { actor: 'anna', secret: 'the same after a restart of the dashboard' };

export async function openShop({
  backend = inFile(),
  store = {},
  dashboard = { development },
}: ShopOptions = {}) {
  const handled: string[] = [];
  /** Addresses without an @ are refused until it is set. */
  const mailServer = { takesAll: false };
  const mail = defineJob({
    name: 'mail',
    queue: 'mail',
    payload: z.object({ to: z.string(), token: z.string() }),
    keepPayload: true,
    async handle({ to, token }, ctx) {
      handled.push(ctx.id);
      ctx.log(to);
      if ((!to.includes('@') && !mailServer.takesAll) || token !== 's3cret')
        throw new PermanentError(`no such address: ${to}`);
      return 'sent';
    },
  });
  const nightly = defineSchedule({
    name: 'nightly',
    cron: '0 2 * * *',
    job: mail,
    payload: { to: 'all@shop.example', token: 's3cret' },
  });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [mail], schedules: [nightly], signing });
  const client = connect(app, backend, { store });

  async function serve(port: number) {
    const handler = createDashboard(client, dashboard);
    const server = await serveHttp(handler, { port, drainMs: 1 });
    return { handler, server };
  }
  let running = await serve(0);
  const { url, port } = running.server;
  onTestFinished(async () => {
    await running.server.close();
    await client.close();
  });
  return {
    client,
    mail,
    url,
    handled,
    mailServer,
    link: () => running.handler.link(url),
    enqueue: (to: string) => client.enqueue(mail, { to, token: 's3cret' }),
    work: () => startWorker(app, { backend, untilIdle: true }).done,
    async letters(count: number): Promise<void> {
      for (let i = 0; i < count; i++) await this.enqueue(`nobody ${i}`);
      await this.work();
    },
    stats: async () => (await backend.admin!.stats('mail'))[0]!,
    audit: async () => (await client.stores.audit!.page({})).entries.toReversed(),
    /** Breaks its connections without a word, as the end of its process does. */
    kill: () => running.server.close(),
    async restart(): Promise<void> {
      running = await serve(port);
    },
  };
}

export type Shop = Awaited<ReturnType<typeof openShop>>;

function inFile(): QueueBackend {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-dashboard-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return sqlite(join(folder, 'jobs.db'));
}

export const goTo = (page: Page, name: string): Promise<void> =>
  page.getByRole('link', { name, exact: true }).click();
