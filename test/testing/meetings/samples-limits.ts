/** Features that hold jobs back: limits, groups, breakers, pauses. */

import { createOperator } from '../../../core/operations/index.ts';
import { atOnce, each, endOf, queue, three, workJob } from './jobs.ts';
import { type Process, poison } from './process.ts';
import type { Sample, Seen, Sent, SentJob } from './sample.ts';

const second = 1_000;

const plainly: Sample['send'] = async (self, round) => ({ jobs: await each(self, three(round)) });

export const rate: Sample = {
  promises: 'no more jobs begin in any window than the limit allows',
  // Each attempt takes a slot, so a disturbed round waits for several windows.
  asksMs: 120 * second,
  parts: (self) => ({ jobs: [workJob(self, { rate: { limit: 2, perMs: 30 * second } })] }),
  send: plainly,
  check({ runs }) {
    for (const { at } of runs) {
      const inWindow = runs.filter((run) => run.at >= at && run.at < at + 30 * second);
      if (inWindow.length > 2) return [`${inWindow.map(({ label }) => label)} began within 30 s`];
    }
    return [];
  },
};

export const concurrency: Sample = {
  promises: 'no more jobs run at the same time than the limit allows',
  parts: (self) => ({ jobs: [workJob(self, { concurrency: { limit: 2 } })] }),
  send: plainly,
  check: (seen) => atOnce(seen, 2),
};

const keyOf = ({ label }: { readonly label: string }) => (label.startsWith('c') ? 'c' : 'a and b');

export const concurrencyByKey: Sample = {
  promises: 'no more jobs of a key run at the same time than the limit allows',
  parts: (self) => ({ jobs: [workJob(self, { concurrency: { limit: 1, key: keyOf } })] }),
  send: plainly,
  check: (seen) => atOnce(seen, 1, keyOf),
};

export const single: Sample = {
  promises: 'one runs at a time',
  parts: (self) => ({ jobs: [workJob(self, { single: true })] }),
  send: plainly,
  check: (seen) => atOnce(seen, 1),
};

const inGroup: Sample['send'] = async (self, round) => ({
  jobs: await each(self, three(round), () => ({ group: 'account' })),
});

export const fairGroups: Sample = {
  promises: 'groups take turns',
  parts: (self) => ({ jobs: [workJob(self)] }),
  send: async (self, round) => ({
    jobs: await each(self, three(round), (label) => ({ group: keyOf({ label }) })),
  }),
};

/** Each job of a round must begin after the jobs before it have ended. Ignores jobs for which `isLeftOut` is true. */
function inOrder({ runs, rounds }: Seen, isLeftOut: (job: SentJob) => boolean): string[] {
  const complaints: string[] = [];
  for (const { jobs } of rounds.values()) {
    const labels = jobs.filter((job) => !isLeftOut(job)).map(({ label }) => label);
    for (const [i, label] of labels.slice(1).entries()) {
      const before = runs.filter((run) => run.label === labels[i]);
      const first = runs.find((run) => run.label === label);
      if (first && before.some((run) => endOf(run) > first.beganAt || run.beganAt > first.beganAt))
        complaints.push(`${label} began before ${labels[i]} had ended`);
    }
  }
  return complaints;
}

const orderedGroup = (onRetry: 'wait' | 'step-aside'): Sample => ({
  promises: 'the jobs of a group run one at a time and in order',
  parts: (self) => ({ jobs: [workJob(self)], queues: { [queue]: { order: { by: 'group', onRetry } } } }),
  send: inGroup,
  check: (seen) => [
    ...atOnce(seen, 1),
    // Jobs that were rescheduled, and retried dead letters, join the line again. With `step-aside`, failed and released jobs are overtaken.
    ...(onRetry === 'wait' ? inOrder : () => [])(
      seen,
      ({ id, label }) =>
        seen.times.has(id) || seen.runs.some((run) => run.label === label && run.end === 'failed'),
    ),
  ],
});

export const groupThatWaits = orderedGroup('wait');
export const groupThatStepsAside = orderedGroup('step-aside');

export const breaker: Sample = {
  promises: 'no job begins while the breaker is open, and then they continue',
  asksMs: 30 * second,
  parts: (self) => ({
    jobs: [workJob(self, { breaker: { failures: 2, openMs: 5 * second } })],
  }),
  async send(self, round) {
    const failing = await each(self, [`${poison}1.${round}`, `${poison}2.${round}`]);
    return { jobs: [...(await each(self, three(round))), ...failing] };
  },
};

const operatorOf = (self: Process) =>
  createOperator(self.home, { actor: 'somebody', from: 'the law of meetings' });

const pausedMs = 20 * second;

async function notBeforeResumed(self: Process, round: string): Promise<Sent> {
  const notBefore = self.clock.now() + pausedMs;
  const { jobs } = await plainly(self, round);
  return { jobs: jobs.map((job) => ({ ...job, notBefore })) };
}

export const pauseOfQueue: Sample = {
  promises: 'no job begins until the pause ends, and then all do',
  asksMs: pausedMs,
  parts: (self) => ({ jobs: [workJob(self)] }),
  async send(self, round) {
    await operatorOf(self).queues.pause(queue);
    return notBeforeResumed(self, round);
  },
  meanwhile: (people) =>
    void people.clock.after(pausedMs, () => void operatorOf(people).queues.resume(queue)),
};

export const pauseOfJob: Sample = {
  promises: pauseOfQueue.promises,
  isOrdered: true,
  asksMs: pausedMs + 5 * second,
  parts: pauseOfQueue.parts,
  async send(self, round) {
    await operatorOf(self).jobs.pause('work');
    // Workers notice the pause within 5 s.
    await new Promise<void>((resolve) => self.clock.after(5 * second, resolve));
    return notBeforeResumed(self, round);
  },
  meanwhile: (people) => void people.clock.after(pausedMs, () => void operatorOf(people).jobs.resume('work')),
};
