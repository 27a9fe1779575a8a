/** All points of a scenario, one after the other. */

import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, pointsOf } from './faults.ts';
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

/** Code that is loaded on demand takes real time, in which virtual time goes on: a run counts when nothing had to be loaded. */
const mostTries = 20;
const loadingMs = 50;

/** The calls of a run without a fault, the same twice. Throws where that is not well itself. */
export async function callsOf(scenario: Scenario, kind: Kind): Promise<readonly string[]> {
  let last = '';
  let complaints: readonly string[] = [];
  for (let tries = 0; tries < mostTries; tries++) {
    const outcome = await run(scenario, kind, null);
    complaints = outcome.complaints;
    const calls = outcome.calls.join();
    if (complaints.length === 0 && calls === last) return outcome.calls;
    last = calls;
    await delay(loadingMs);
  }
  throw new Error(`Without any fault: ${complaints.join('; ') || 'its calls differ from run to run'}`);
}

/** A complaint counts when a second run repeats it. */
export async function complaintsAt(
  scenario: Scenario,
  kind: Kind,
  fault: Fault,
  mutation: Mutation = {},
): Promise<readonly string[]> {
  const first = await run(scenario, kind, fault, mutation);
  if (first.complaints.length === 0) return [];
  await delay(loadingMs);
  return (await run(scenario, kind, fault, mutation)).complaints;
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
    const complaints = await complaintsAt(scenario, kind, fault, mutation);
    const call = calls[fault.call - 1]!;
    const command = commandOf(scenario.name, kind, fault);
    if (complaints.length > 0) failures.push({ fault, call, complaints, command });
  }
  return { points: points.length, failures };
}
