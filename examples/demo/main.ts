/** `npm run demo`: a small shop's background work on this machine, to be watched. */

import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixed, LongshoreError } from '../../core/index.ts';
import { startLocal } from '../../local/index.ts';
import { createExampleApp } from '../app/app.ts';
import { exampleBackend } from '../config.ts';
import { exampleStore } from '../store.ts';
import { type DemoOptions, readOptions, UsageError, usage } from './options.ts';
import { prove } from './proof.ts';
import { stopOnSignals } from './signals.ts';
import { removeEarlierRuns, runFolder, type Stage, setStage } from './stage.ts';
import { badMoments, expectations, prepareSamples, sendEverything } from './story.ts';
import { drainedText, missingText, type Summary, summaryText } from './summary.ts';
import { createTally, isComplete } from './tally.ts';
import { liveView, plainView, silence, type View } from './view.ts';
import { importSpeed, watch } from './watch.ts';

const out = join(import.meta.dirname, 'out');
const concurrency = 8;
const drainMs = 5_000;
/** Nothing has happened for so long although something is missing: it will not come any more. */
const givenUpAfterMs = 20_000;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

function viewFor({ json }: DemoOptions): View {
  if (json) return silence;
  const { stdout } = process;
  return stdout.isTTY && process.env.TERM !== 'dumb' ? liveView(stdout) : plainView(say);
}

interface Played extends Summary {
  readonly files: number;
  readonly mails: number;
  readonly webhooks: number;
  readonly released: number;
  readonly waiting: number;
  readonly complete: boolean;
}

async function play(
  options: DemoOptions,
  stage: Stage,
  startedAt: number,
  signal: AbortSignal,
): Promise<Played> {
  const expected = expectations(options.rows);
  const tally = createTally(startedAt);
  const view = viewFor(options);
  const folder = relative(process.cwd(), stage.folder);
  const example = createExampleApp(stage.services, {
    nightlyCron: '*/2 * * * * *', // every two seconds, so that there is something to see
    paymentRetry: fixed(2000),
  });
  const { app, jobs } = example;
  app.events.on(tally.listener);
  app.events.on((event) => view.event(event, Date.now() - startedAt));
  const opening = {
    path: join(stage.folder, 'queue.db'),
    schema: 'longshore_demo',
    prefix: 'longshore-demo-',
    fresh: true,
  };
  const store = await exampleStore(opening);
  const backend = await exampleBackend(app, { ...opening, keys: store?.keys });
  const samples = await prepareSamples(stage, expected);

  // startLocal closes its backend when it stops, but afterwards we still want to look into the queue.
  const kept = { ...backend, close: async () => {} };
  const local = await startLocal(app, {
    backend: kept,
    ...(store && { store }),
    concurrency,
    drainMs,
    signals: [],
    logger: false,
  });
  const title = `Longshore demo on ${backend.name}, ${concurrency} jobs at a time`;
  const watching = watch({ view, stage, example, backend, tally, expected, startedAt, title });
  watching.footer(`Ctrl-C drains and ends. Files are in ${folder}`);
  const isDone = () => isComplete(tally, expected, jobs.nightlyReport.name);
  try {
    await sendEverything(local.client, example, { expected, ...samples, signal });
    while (!signal.aborted) {
      if (options.exitWhenIdle && (isDone() || Date.now() - tally.lastEventAt > givenUpAfterMs)) break;
      if (isDone())
        watching.footer('All done; the schedule goes on. Ctrl-C drains and shows what came of it.');
      await sleep(50);
    }
    if (signal.aborted) {
      const limit = `at most ${drainMs / 1000} s. Ctrl-C again leaves at once.`;
      watching.footer(`Draining: ${local.worker.running()} running jobs may end, ${limit}`);
    }
  } finally {
    await local.stop();
    watching.stop();
    view.end();
  }
  const durationMs = Date.now() - startedAt;
  const { released } = await local.done;
  const proof = await prove(stage, backend, expected, tally);
  await backend.close();
  return {
    ...proof,
    backend: backend.name,
    durationMs,
    outcomes: tally.outcomes,
    rowsPerSecond: importSpeed(tally, jobs.importChunk.name, proof.rows),
    folder,
    released,
    complete: isDone(),
  };
}

/** Resolves to the exit code. */
async function demo(options: DemoOptions): Promise<number> {
  const startedAt = Date.now();
  const { signal, release } = stopOnSignals();
  removeEarlierRuns(out);
  const stage = await setStage(runFolder(out, new Date(startedAt), options.keep), badMoments);
  try {
    const played = await play(options, stage, startedAt, signal);
    const missing = signal.aborted ? [] : missingText(played.findings);
    if (options.json) {
      say(jsonOf(played));
      for (const text of missing) process.stderr.write(`${text}\n`);
    } else {
      if (played.complete || !signal.aborted) say(summaryText(played));
      if (signal.aborted) say(drainedText(played));
    }
    return missing.length === 0 ? 0 : 1;
  } finally {
    await stage.close();
    release();
  }
}

function jsonOf({ backend, outcomes, files, mails, webhooks, rows, durationMs }: Played): string {
  return JSON.stringify({ backend, jobs: outcomes, files, mails, webhooks, rows, durationMs });
}

// `npm run demo | head` closes our output: nobody reads on, so there is nothing more to show.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) say(usage);
  else process.exitCode = await demo(options);
} catch (error) {
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message} See: npm run demo -- --help\n`);
    process.exitCode = 2;
  } else if (error instanceof LongshoreError) {
    process.stderr.write(`${error.code}: ${error.message}\n`);
    process.exitCode = 1;
  } else throw error;
}
