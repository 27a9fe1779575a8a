/** What a child of `longshore dev` does. */

import { systemClock } from '../../core/base/clock.ts';
import type { Input, Result } from '../cli/definition.ts';
import type { Session } from '../cli/session.ts';
import type { SupervisorCalls, WorkerCalls } from './calls.ts';
import { isAlone } from './fault-names.ts';
import { movingClock } from './moving-clock.ts';
import { type ChannelEnd, connectPeer } from './peer.ts';
import { faultyWorker } from './worker-faults.ts';

/** @param work runs the worker with what the session gives, until it is stopped */
export async function runPart(
  { io, session, note }: Pick<Input, 'io' | 'session' | 'note'>,
  channel: ChannelEnd,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const calls: Partial<WorkerCalls> = {};
  const supervisor = connectPeer<SupervisorCalls>(channel, calls);
  channel.channel?.ref(); // nothing else keeps this process alive yet
  const { aheadMs, hasFaults } = await supervisor.ask('begin', null);
  channel.channel?.unref();
  if (!hasFaults || io.env.NODE_ENV === 'production') return work(session);
  // Before the config is loaded: it gives this clock to its backend.
  const clock = movingClock({ ...systemClock });
  Object.assign(systemClock, clock);
  clock.skip(aheadMs);
  const [config, inner] = [await session.config(), await session.backend()];
  const worker = faultyWorker(config.app, inner, supervisor, note);
  let frozen: number | null = null;
  channel.on('disconnect', () => {
    if (frozen !== null) process.kill(frozen, 'SIGCONT'); // it then finds its own channel closed
  });
  Object.assign(calls, worker.calls, {
    skip: ({ ms }) => clock.skip(ms),
    guard({ pid }) {
      frozen = pid;
    },
  } satisfies Partial<WorkerCalls>);
  const ready = { isAlone: isAlone(inner) };
  config.app.events.on(({ type }) => {
    if (type === 'worker.started') supervisor.ask('ready', ready).catch(() => {});
  });
  return work({
    ...session,
    config: async () => ({ ...config, app: worker.app }),
    backend: async () => worker.backend,
  });
}
