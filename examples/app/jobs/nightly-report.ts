import * as z from 'zod';
import { defineJob } from '../../../core/index.ts';
import type { Services } from '../services.ts';

export function nightlyReportJob({ db, files }: Services) {
  return defineJob({
    name: 'report.nightly',
    payload: z.object({}),
    priority: 'low',
    timeoutMs: 60_000,
    async handle() {
      const days = await db.salesByDay();
      const lines = days.map(({ day, orders, cents }) => `${day},${orders},${(cents / 100).toFixed(2)}`);
      await files.write('reports/sales.csv', `day,orders,euros\n${lines.join('\n')}\n`);
      return { days: days.length, orders: days.reduce((sum, { orders }) => sum + orders, 0) };
    },
  });
}
