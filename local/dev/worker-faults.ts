/** The faults that a worker of `longshore dev` causes by itself, on a running job or the next one. */

import { sleep } from '../../core/base/clock.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import { readEnvelope } from '../../core/envelope/envelope.ts';
import { messageFactsOf } from '../../core/envelope/facts.ts';
import { writeEnvelope } from '../../core/envelope/write-envelope.ts';
import type { App } from '../../core/kernel/app/app.ts';
import type { AttemptMiddleware } from '../../core/kernel/app/job.ts';
import type { FaultResult } from '../../core/surfaces/dashboard/api.ts';
import type { Peer } from '../fleet/processes.ts';
import { diskFullMs, type FaultName, faultInfos } from './fault-names.ts';
import {
  type AttemptEvent,
  again,
  createRunning,
  type FaultyBackend,
  faulty,
  type RunningAttempt,
  type SettledEvent,
} from './faulty.ts';
import type { SupervisorCalls, WorkerCalls } from './processes.ts';

/** `message`: what happens. `over`: resolves when it is done. */
interface Deed extends FaultResult {
  readonly over: Promise<void>;
}

interface FaultyWorker {
  /** The same app, with a middleware that causes faults. */
  readonly app: App;
  readonly backend: QueueBackend;
  readonly calls: Pick<WorkerCalls, 'cause' | 'hold' | 'free' | 'begins' | 'ends'>;
}

const longestHoldMs = 5_000;
const lookMs = 20;

/** @param report called with the message of a fault that waited for a job */
export function faultyWorker(
  app: App,
  inner: QueueBackend,
  supervisor: Peer<SupervisorCalls>,
  report: (message: string) => void,
): FaultyWorker {
  const running = createRunning();
  const queue = faulty(inner, app.clock, running);
  const names = faultInfos(app, inner).map(({ name }) => name);
  /** The fault for the next attempt. */
  let armed: FaultName | null = null;
  app.events.on(running.event);

  /** Informs the supervisor first, because this process cannot do so after the signal. */
  async function signalled(fault: FaultName, { id, job, attempt }: RunningAttempt, signal: NodeJS.Signals) {
    await supervisor.ask('caught', { fault, id, job, attempt });
    process.kill(process.pid, signal);
  }

  const deeds: Partial<Record<FaultName, (run: RunningAttempt) => Promise<Deed>>> = {
    kill: async (run) => ({
      message: `The worker is killed while it runs ${named(run)}. When its lease ends, attempt ${run.attempt + 1} begins.`,
      over: signalled('kill', run, 'SIGKILL'),
    }),
    // The worker freezes itself here, so that it never holds a transaction that the others wait for.
    freeze: async (run) => ({
      message: `The worker is frozen while it runs ${named(run)}. When its lease ends, a second worker begins attempt ${run.attempt + 1}; then the first worker continues.`,
      over: signalled('freeze', run, 'SIGSTOP'),
    }),
    'deliver-twice': async (run) => ({ message: await deliverTwice(app, queue, run), over: none }),
    'lose-lock': async (run) => {
      const lost = await inner.nack(run.lease, again);
      const message = lost
        ? `The lease of ${named(run)} was taken away. Attempt ${run.attempt + 1} may begin at once, and the end of this one changes nothing.`
        : `${named(run)} had lost its lease already.`;
      return { message, over: none };
    },
    'fail-next': async (run) => {
      const message = `${named(run)} fails.`;
      return {
        message,
        over: Promise.reject(new Error('This attempt fails because you caused a fault.')),
      };
    },
  };

  const aroundAttempt: AttemptMiddleware = async (ctx, next) => {
    const run = armed === null ? null : running.of(ctx);
    if (run) {
      const deed = deeds[armed!]!;
      armed = null;
      const { message, over } = await deed(run);
      report(message);
      await over;
    }
    return next();
  };

  async function cause({ name }: { name: string }): Promise<FaultResult> {
    if (!names.includes(name)) throw new Error(`There is no fault "${name}" here.`);
    if (name === 'full-disk') {
      queue.fillDisk(diskFullMs);
      return { message: `The disk of the worker is full for ${diskFullMs / 1000} seconds.` };
    }
    const run = name === 'fail-next' ? null : running.first();
    if (!run) {
      armed = name as FaultName;
      const message =
        name === 'fail-next'
          ? 'The next attempt fails.'
          : 'No job is running, so the fault waits for the next one.';
      return { message: `${message} If no job is waiting, enqueue one.` };
    }
    const { message, over } = await deeds[name as FaultName]!(run);
    void over.catch(() => {}); // fails only if the supervisor is gone, and this process ends then too
    report(message);
    return { message };
  }

  return {
    app: { ...app, middleware: { ...app.middleware, attempt: [aroundAttempt, ...app.middleware.attempt] } },
    backend: queue.backend,
    calls: {
      cause,
      async hold() {
        queue.hold();
        for (let waitedMs = 0; queue.isBusy && waitedMs < longestHoldMs; waitedMs += lookMs)
          await sleep(app.clock, lookMs);
        return running.size;
      },
      free: () => queue.free(),
      async begins({ id, attempt }) {
        await running.find((event): event is AttemptEvent => event.id === id && event.attempt > attempt);
      },
      async ends({ id, attempt }) {
        const { settled } = await running.find(
          (event): event is SettledEvent =>
            event.type === 'job.settled' && event.id === id && event.attempt === attempt,
        );
        return { settled };
      },
    },
  };
}

const none = Promise.resolve();

const named = ({ job, id, attempt }: RunningAttempt): string => `${job} ${id} (attempt ${attempt})`;

/** Delivers a message a second time, in the way that the queue allows. Resolves with a message that describes it. */
async function deliverTwice(app: App, queue: FaultyBackend, run: RunningAttempt): Promise<string> {
  const ring = app.keyRing();
  const { lease } = run;
  const first = readEnvelope(lease.body, { ring, now: app.clock.now(), maxBytes: app.maxBodyBytes });
  const { job, priority, context, idempotencyKey } = first;
  const what = `${run.job} ${run.id}`;
  // With a key, the copy is a new message with the same key, as if the sender had tried again. Otherwise it is the same message.
  const copy =
    idempotencyKey === null
      ? first
      : { ...first, identifier: app.newId(), attempts: 0, schedule: null, issuedAt: app.clock.now() };
  const facts = messageFactsOf(copy);
  const [sent] = await queue.inner.enqueue([
    {
      id: copy.identifier,
      queue: lease.queue,
      job,
      body: copy === first ? lease.body : writeEnvelope(copy, ring),
      priority,
      notBefore: null,
      group: null,
      tenantId: context?.tenantId ?? null,
      ...(facts && { facts }),
    },
  ]);
  if (!sent?.ok) throw sent?.error ?? new Error('The queue did not accept the copy.');
  if (copy !== first)
    return `${what} was sent again as ${copy.identifier} with the same idempotency key. It waits for the first job and is then skipped.`;
  if (!sent.duplicate)
    return `The message of ${what} was sent again, and the queue accepted it. The job has no idempotency key, so it runs twice.`;
  queue.loseAck(lease);
  return `The message of ${what} was sent again, but the queue knew its id and dropped it. So the ack of attempt ${run.attempt} is lost instead: the job is delivered again and runs twice.`;
}
