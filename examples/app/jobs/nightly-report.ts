import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { defineJob } from '../../../core/index.ts';
import type { Services } from '../services.ts';

export function nightlyReportJob({ db, folder }: Services) {
  return defineJob({
    name: 'report.nightly',
    payload: z.object({}),
    priority: 'low',
    timeoutMs: 60_000,
    async handle(_, ctx) {
      const days = db.salesByDay();
      const path = join(folder, 'reports', 'sales.csv');
      const lines = days.map(({ day, orders, cents }) => `${day},${orders},${(cents / 100).toFixed(2)}`);
      await writeFile(`${path}.${ctx.id}`, `day,orders,euros\n${lines.join('\n')}\n`, { signal: ctx.signal });
      await rename(`${path}.${ctx.id}`, path);
      return { days: days.length, orders: days.reduce((sum, { orders }) => sum + orders, 0) };
    },
  });
}
