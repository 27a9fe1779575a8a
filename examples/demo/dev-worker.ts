/**
 * The worker of `npm run dev`: it stays, on a queue that stays (`.longshore/dev.db`). dev.ts restarts it when a source
 * changes: it drains, starts again with the new code, and goes on with whatever is in the queue.
 */

import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fixed, LongshoreError, type LongshoreEvent } from '../../core/index.ts';
import { startLocal } from '../../local/index.ts';
import { createExampleApp } from '../app/app.ts';
import { confirm, signUp } from '../app/jobs/sign-up.ts';
import { exampleBackend } from '../config.ts';
import { exampleStore } from '../store.ts';
import { lineOf, paint, printedLine } from './lines.ts';
import { yesterdaysOrders } from './samples.ts';
import { stopOnSignals } from './signals.ts';
import { setStage } from './stage.ts';
import { badMoments } from './story.ts';

const home = '.longshore';
const sampleOrders = 500;

function print(event: LongshoreEvent): void {
  const line = lineOf(event);
  const time = new Date().toTimeString().slice(0, 8);
  if (line) console.log(printedLine(time, line, process.stdout.columns || 160));
}

async function dev(): Promise<void> {
  const { signal, release } = stopOnSignals();
  const stage = await setStage(join(home, 'dev'), badMoments);
  const orders = yesterdaysOrders(sampleOrders);
  stage.services.db.saveBatch({ importId: 'dev', tenantId: 'acme', rows: orders, refused: [] });
  const { app, jobs } = createExampleApp(stage.services, {
    nightlyCron: '*/30 * * * * *', // a night every half minute
    paymentRetry: fixed(5000),
    signUpTimes: { confirmWithin: '15s', tipsAfter: '5s' },
  });
  app.events.on(print);
  const options = { path: join(home, 'dev.db') };
  const store = await exampleStore(options);
  const backend = await exampleBackend(app, { ...options, keys: store?.keys });
  const local = await startLocal(app, {
    backend,
    ...(store && { store }),
    concurrency: 4,
    signals: [],
    logger: false,
  });
  console.log(paint('bold', `Longshore worker on ${backend.name}, queues ${app.queues.join(', ')}`));
  console.log(
    paint('dim', 'Change examples/app/jobs/*.ts and save: it drains and starts again. Ctrl-C ends.'),
  );

  /** Somebody buys something. */
  async function order(): Promise<void> {
    const { orderNo } = orders[Math.floor(Math.random() * orders.length)]!;
    const context = { tenantId: 'acme', requestId: app.newId() };
    await local.client.enqueue(jobs.renderInvoice, { orderNo }, { context });
    await local.client.enqueue(jobs.capturePayment, { orderNo }, { context });
  }
  let guests = 0;
  const guestSignsUp = () =>
    signUp(local.client, jobs.signUp, { name: 'Gus', email: `gus${++guests}@guest.example` });
  /** The last one clicks on the link in the welcome. */
  async function guestConfirms(): Promise<void> {
    const welcomed = stage.mailbox.mails.flatMap(
      ({ messageId }) => /^<welcome-(.*)@/.exec(messageId)?.[1] ?? [],
    );
    if (welcomed.length > 0) await confirm(local.client, welcomed.at(-1)!, true);
  }
  const actions: Readonly<Record<string, () => Promise<unknown>>> = {
    '': order,
    s: guestSignsUp,
    c: guestConfirms,
  };
  const keyboard = process.stdin.isTTY ? createInterface({ input: process.stdin }) : null;
  keyboard?.on('line', (line) => void actions[line.trim()]?.().catch((error) => console.error(error)));
  if (keyboard)
    console.log(paint('dim', 'Enter: somebody orders. s, Enter: a guest signs up. c, Enter: confirms.'));
  await order();

  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  console.log(paint('dim', `draining, ${local.worker.running()} running jobs may end`));
  keyboard?.close();
  const { released } = await local.stop();
  console.log(paint('dim', `drained, ${released} jobs released`));
  await stage.close();
  release();
}

try {
  await dev();
} catch (error) {
  if (!(error instanceof LongshoreError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
