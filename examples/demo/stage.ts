/** Everything around the app for one run: a folder of its own, the mail server, the partner, the sample data. */

import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createServices, type LocalServices } from '../app/services.ts';
import { type Mailbox, openMailbox } from './mailbox.ts';
import { type BadMoments, type Outside, openOutside } from './outside.ts';

export interface Stage {
  readonly folder: string;
  readonly services: LocalServices;
  readonly mailbox: Mailbox;
  readonly outside: Outside;
  close(): Promise<void>;
}

export async function setStage(folder: string, badMoments: BadMoments): Promise<Stage> {
  mkdirSync(folder, { recursive: true });
  const [mailbox, outside] = await Promise.all([openMailbox(), openOutside(badMoments)]);
  const { webhookUrl, paymentUrl } = outside;
  const services = createServices({ folder, smtpUrl: mailbox.url, webhookUrl, paymentUrl });
  return {
    folder,
    services,
    mailbox,
    outside,
    async close() {
      services.close();
      await Promise.all([mailbox.close(), outside.close()]);
    },
  };
}

/** `out/<time>-<pid>`, or `out/kept-<time>-<pid>` for a run whose files nobody may remove. */
export function runFolder(out: string, now: Date, keep: boolean): string {
  const time = now.toISOString().slice(0, 19).replaceAll(':', '-');
  return join(out, `${keep ? 'kept-' : ''}${time}-${process.pid}`);
}

/** Removes the folders of earlier runs, but not of one that is still going. */
export function removeEarlierRuns(out: string): void {
  mkdirSync(out, { recursive: true });
  for (const name of readdirSync(out)) {
    const pid = /^\d{4}-[\dT-]+-(\d+)$/.exec(name)?.[1];
    if (pid && !isAlive(Number(pid))) rmSync(join(out, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
