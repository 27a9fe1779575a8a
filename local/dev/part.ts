/** What a child of `longshore dev` does: it is the worker, or the dashboard. */

import { systemClock } from '../../core/base/clock.ts';
import { isBackend } from '../../core/kernel/enqueue/backends.ts';
import { untilStopped } from '../cli/commands/until-stopped.ts';
import type { Input, Result } from '../cli/definition.ts';
import { messageOf } from '../cli/errors.ts';
import type { Session } from '../cli/session.ts';
import { aborted } from '../waiting.ts';
import type { Begin, SupervisorCalls, WorkerCalls } from './calls.ts';
import { isAlone } from './fault-names.ts';
import { movingClock } from './moving-clock.ts';
import { type ChannelEnd, connectPeer, type Peer } from './peer.ts';
import { serving } from './serve.ts';
import { faultyWorker } from './worker-faults.ts';

type PartInput = Pick<Input, 'io' | 'session' | 'note'>;

export interface PartOptions {
  readonly channel: ChannelEnd;
  /** Where the dashboard is served at first; `undefined` = the usual one. */
  readonly port: number | undefined;
  /** Runs the worker with what the session gives, until it is stopped. */
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
    // Before the config is loaded: it gives this clock to its backend.
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

/** The worker serves what nobody else can show, when it has started. Returns how to end that. */
async function serveWhenAsked(
  { session, note }: PartInput,
  supervisor: Peer<SupervisorCalls>,
  serve: ReturnType<typeof serving>,
): Promise<() => Promise<void>> {
  const { app } = await session.config();
  const ready = { isAlone: isAlone(await session.backend()) };
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
      // Of several, the first has the faults.
      const changed = Object.entries(all).map(([name, one]) => [name, one === queue ? worker.backend : one]);
      return Object.fromEntries(changed);
    },
  };
}
