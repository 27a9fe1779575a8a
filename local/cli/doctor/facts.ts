/** The facts for the checks. Each is loaded once. */

import { dirname } from 'node:path';
import { onDemand } from '../../../core/base/lazy.ts';
import type { DiagnosisRequest } from '../../../core/contract/diagnosis.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { goneAfterMs } from '../../../core/kit/worker-state.ts';
import { needsOfQueues } from '../../settings.ts';
import { healthFacts } from '../commands/health.ts';
import type { Input } from '../definition.ts';

export type DoctorFacts = Awaited<ReturnType<typeof doctorFacts>>;

export interface DoctorLimits {
  /** More dead letters than this are a finding. */
  readonly maxDead: number;
}

export async function doctorFacts(input: Pick<Input, 'session' | 'io'>, limits: DoctorLimits) {
  const { session, io } = input;
  const { app, path } = await session.config();
  const health = healthFacts(session.keyless, io.clock);
  return {
    app,
    session,
    io,
    limits,
    health,
    stats: health.stats,
    /** The folder of the config, in which the deployment files are looked for. */
    folder: dirname(path),
    /** The time of the queue's clock, or of this machine if the queue has none. */
    now: onDemand(async () => (await (await session.backend()).now?.()) ?? io.clock.now()),
    /** Heartbeats of workers that are not gone. */
    beats: onDemand(async () => {
      const { stores } = await session.client();
      return stores.workers.list(io.clock.now() - goneAfterMs);
    }),
  };
}

export function requestOf(app: App): DiagnosisRequest {
  const keyed = [...app.jobs.values()].filter(({ keyOf }) => keyOf !== null);
  return {
    queues: app.queues,
    needsOf: needsOfQueues(app),
    keysKeptMs: Math.max(0, ...keyed.map(({ idempotencyKeepMs }) => idempotencyKeepMs)),
  };
}
