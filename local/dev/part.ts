/** A child of `longshore dev`: the worker or the dashboard. */

import { type Clock, systemClock } from '../../core/base/clock.ts';
import { isBackend } from '../../core/kernel/enqueue/backends.ts';
import { serveDevelopment } from '../cli/commands/serve-dashboard.ts';
import { untilStopped } from '../cli/commands/until-stopped.ts';
import type { Input, Result } from '../cli/definition.ts';
import { messageOf } from '../cli/errors.ts';
import type { Session } from '../cli/session.ts';
import { type ChannelEnd, connectPeer, type Peer } from '../fleet/processes.ts';
import { aborted } from '../waiting.ts';
import { faultInfos } from './fault-names.ts';
import type { Begin, DashboardCalls, Serve, SupervisorCalls, WorkerCalls } from './processes.ts';
import { faultyWorker } from './worker-faults.ts';

type PartInput = Pick<Input, 'io' | 'session' | 'note'>;

interface PartOptions {
  readonly channel: ChannelEnd;
  /** First port of the dashboard; `undefined` = the default. */
  readonly port: number | undefined;
  /** Runs the worker until it is stopped. */
  work(session: Session): Promise<Result>;
}

export async function runPart(input: PartInput, { channel, port, work }: PartOptions): Promise<Result> {
  const { io, session } = input;
  const calls: Partial<WorkerCalls> = {};
  const supervisor = connectPeer<SupervisorCalls>(channel, calls);
  channel.channel?.ref(); // nothing else keeps this process alive yet
  const begin = await supervisor.ask('begin', null);
  channel.channel?.unref();
  const hasFaults = begin.hasFaults && io.env.NODE_ENV !== 'production';
  if (hasFaults) {
    // Before the config is loaded, because it passes this clock to its backend.
    const clock = movingClock({ ...systemClock });
    Object.assign(systemClock, clock);
    clock.skip(begin.aheadMs);
    calls.skip = ({ ms }) => clock.skip(ms);
  }
  const serve = serving(input, { supervisor, calls, port, hasFaults });
  const { dashboard } = begin;
  if (!dashboard) {
    const ended = await serveWhenAsked(input, supervisor, serve);
    const worker = hasFaults ? await withFaults(input, { begin, channel, supervisor, calls }) : session;
    return work(worker).finally(ended);
  }
  await untilStopped({ io }, async (signal) => {
    const close = await serve(dashboard);
    await aborted(signal);
    await close();
  });
  return { data: {}, text: '' };
}

/** Serves the dashboard in the worker if no other process can read its queue. Returns a function that ends this. */
async function serveWhenAsked(
  { session, note }: PartInput,
  supervisor: Peer<SupervisorCalls>,
  serve: ReturnType<typeof serving>,
): Promise<() => Promise<void>> {
  const { app } = await session.config();
  const ready = { isAlone: (await session.backend()).inProcess === true };
  let close = async () => {};
  app.events.on(async ({ type }) => {
    if (type !== 'worker.started') return;
    try {
      const wanted = await supervisor.ask('ready', ready);
      if (wanted) close = await serve(wanted);
    } catch (error) {
      note(`There is no dashboard: ${messageOf(error)}`);
    }
  });
  return () => close();
}

interface Channels {
  readonly begin: Begin;
  readonly channel: ChannelEnd;
  readonly supervisor: Peer<SupervisorCalls>;
  readonly calls: Partial<WorkerCalls>;
}

async function withFaults(
  { session, note }: PartInput,
  { begin, channel, supervisor, calls }: Channels,
): Promise<Session> {
  const config = await session.config();
  const queue = await session.backend();
  const worker = faultyWorker(config.app, queue, supervisor, note);
  let { frozenPid } = begin;
  channel.on('disconnect', () => {
    if (frozenPid !== null) process.kill(frozenPid, 'SIGCONT'); // it then finds its own channel closed
  });
  Object.assign(calls, worker.calls, {
    thawed() {
      frozenPid = null;
    },
  } satisfies Partial<WorkerCalls>);
  return {
    ...session,
    config: async () => ({ ...config, app: worker.app }),
    backend: async () => worker.backend,
    async backends() {
      const all = await session.backends();
      if (isBackend(all)) return worker.backend;
      // With several backends, only the first has the faults.
      const changed = Object.entries(all).map(([name, one]) => [name, one === queue ? worker.backend : one]);
      return Object.fromEntries(changed);
    },
  };
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
  cancel(): void;
}

/** A clock that can skip ahead; its timers run when they are due. */
function movingClock({ now: realNow, after }: Clock): Clock & { skip(ms: number): void } {
  let aheadMs = 0;
  const timers = new Set<Timer>();
  const now = () => realNow() + aheadMs;

  function arm(timer: Timer): void {
    timers.add(timer);
    timer.cancel = after(Math.max(0, timer.at - now()), () => {
      timers.delete(timer);
      timer.run();
    });
  }
  return {
    now,
    after(delayMs, run) {
      const timer: Timer = { at: now() + delayMs, run, cancel() {} };
      arm(timer);
      return () => {
        timers.delete(timer);
        timer.cancel();
      };
    },
    skip(ms) {
      aheadMs += ms;
      for (const timer of [...timers]) {
        timer.cancel();
        arm(timer);
      }
    },
  };
}

interface ServingOptions {
  readonly supervisor: Peer<SupervisorCalls>;
  /** Handlers for calls of the supervisor. The dashboard adds its own here. */
  readonly calls: Partial<DashboardCalls>;
  /** First port; `undefined` = the default. */
  readonly port: number | undefined;
  readonly hasFaults: boolean;
}

/** Returns a function that serves the dashboard in this process. It resolves with a function that ends this. */
function serving(
  { io, session }: Pick<Input, 'io' | 'session'>,
  { supervisor, calls, port, hasFaults }: ServingOptions,
) {
  return async ({ secret, port: last }: Serve): Promise<() => Promise<void>> => {
    const list = hasFaults ? faultInfos((await session.config()).app, await session.backend()) : [];
    const cause = (name: string) => supervisor.ask('cause', { name });
    const served = await serveDevelopment(
      { io, session },
      {
        port: last ?? port,
        secret,
        anotherLink: 'Press Enter in the terminal of `longshore dev` to print another link.',
        ...(list.length > 0 && { faults: { list, cause } }),
      },
    );
    calls.link = served.link;
    await supervisor.ask('serving', { port: served.port, link: served.link() });
    return served.close;
  };
}
