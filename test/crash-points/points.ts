/** All points of a scenario, one after the other. */

import type { Fault } from './faults.ts';
import { pointsOf } from './faults.ts';
import type { Kind, Mutation, Scenario } from './types.ts';
import { run } from './world.ts';

export interface Failure {
  readonly fault: Fault;
  /** The call that it came to. */
  readonly call: string;
  readonly complaints: readonly string[];
  /** Repeats it. */
  readonly command: string;
}

export const commandOf = (scenario: string, kind: Kind, { call, kind: fault }: Fault): string =>
  `node test/crash-points/replay.ts "${scenario}" ${kind} ${call} ${fault}`;

/** The calls of a run without a fault. Throws where that is not well itself. */
export async function callsOf(scenario: Scenario, kind: Kind): Promise<readonly string[]> {
  // What a first run loads takes real time, in which virtual time goes on.
  await run(scenario, kind, null);
  const { calls, complaints } = await run(scenario, kind, null);
  if (complaints.length > 0) throw new Error(`Without any fault: ${complaints.join('; ')}`);
  return calls;
}

/** @param every 1 = each point, 10 = one in ten, others for each scenario */
export async function failuresOf(
  scenario: Scenario,
  kind: Kind,
  every = 1,
  mutation: Mutation = {},
): Promise<{ readonly points: number; readonly failures: readonly Failure[] }> {
  const calls = await callsOf(scenario, kind);
  const points = pointsOf(calls).filter((_, i) => (i + scenario.name.length) % every === 0);
  const failures: Failure[] = [];
  for (const fault of points) {
    const { complaints } = await run(scenario, kind, fault, mutation);
    const call = calls[fault.call - 1]!;
    const command = commandOf(scenario.name, kind, fault);
    if (complaints.length > 0) failures.push({ fault, call, complaints, command });
  }
  return { points: points.length, failures };
}
