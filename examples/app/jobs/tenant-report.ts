/** A report that each tenant gets at an hour of its own: a schedule that is made at run time. */

import * as z from 'zod';
import { type Client, defineJob, type Job, PermanentError } from '../../../core/index.ts';
import type { Services } from '../services.ts';

const payload = z.object({ email: z.email() });

export function tenantReportJob({ db, mailer }: Services) {
  return defineJob({
    name: 'report.tenant',
    queue: 'mail',
    payload,
    timeoutMs: 60_000,
    async handle({ email }, ctx) {
      const { tenantId } = ctx.context;
      if (!tenantId)
        throw new PermanentError('Expected a tenant in the context, got none: whose report is it?');
      const days = await db.salesByDay(tenantId);
      const lines = days.map(
        ({ day, orders, cents }) => `${day}  ${orders} orders  ${(cents / 100).toFixed(2)} EUR`,
      );
      await mailer.send({
        messageId: `<report-${ctx.id}@harbour.example>`,
        to: email,
        subject: `Your sales on ${days.length} days`,
        text: `${lines.join('\n')}\n`,
        attachments: [],
      });
      return { days: days.length };
    },
  });
}

export interface ReportHour {
  readonly tenantId: string;
  readonly email: string;
  /** 0 to 23 in `timezone`; `null` = no report. */
  readonly hour: number | null;
  /** For example `Europe/Berlin`. */
  readonly timezone: string;
}

/** What the web app does when a tenant saves her settings. Resolves with when the next report comes, epoch ms. */
export async function setReportHour(
  client: Client,
  job: Job<z.infer<typeof payload>>,
  { tenantId, email, hour, timezone }: ReportHour,
): Promise<number | null> {
  const name = `report-${tenantId}`;
  if (hour === null) {
    await client.schedules.remove(name);
    return null;
  }
  const cron = `0 ${hour} * * *`;
  const { nextAt } = await client.schedules.upsert({
    name,
    cron,
    timezone,
    job,
    payload: { email },
    context: { tenantId },
  });
  return nextAt;
}
