/** One step by itself: what it lets through, and what it writes around it. */

import { admit } from '../../../core/kernel/attempt/admit.ts';
import type { Admitted, AttemptPorts, End, Step, Verdict } from '../../../core/kernel/attempt/attempt.ts';
import type { Run } from '../../../core/kernel/attempt/run.ts';
import { endOf } from '../../../core/kernel/attempt/verdict.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';

export const acked: Verdict = { verb: 'ack', outcome: 'acked', output: '1' };
export const failed: Verdict = {
  verb: 'nack',
  outcome: 'requeued',
  delayMs: 1_000,
  countAttempt: true,
  error: new Error('down'),
};

export function admitted(client: Client, run: Run): Admitted {
  const ports: AttemptPorts = { client, settler: client.backend };
  const it = admit(client.app, ports, run, client.app.clock.now());
  if (it.refusal) throw new Error(`Expected an attempt that may run, got ${it.refusal.verb}.`);
  return it as Admitted;
}

/** Runs the step around a handler that ends like this. `order` gets 'run' when the handler runs. */
export function runStep(step: Step, it: Admitted, verdict: Verdict, order: string[] = []) {
  return step.run!(it, () => {
    order.push('run');
    return verdict;
  });
}

/** Settles through the step. `order` gets 'queue' when the queue is told; `ends` gets what it is told. */
export function settleStep(
  step: Step,
  it: Admitted,
  verdict: Verdict,
  { order = [], ends = [], settled = true }: { order?: string[]; ends?: End[]; settled?: boolean } = {},
) {
  return step.settle!(it, endOf(it, verdict), async (end) => {
    order.push('queue');
    ends.push(end);
    return settled;
  });
}

/** Calls of `target`'s methods are noted by name. */
export function noting<T extends object>(order: string[], target: T): T {
  const entries = Object.entries(target).map(([name, value]) => [
    name,
    typeof value === 'function'
      ? (...args: unknown[]) => {
          order.push(name);
          return value(...args);
        }
      : value,
  ]);
  return Object.fromEntries(entries) as T;
}
