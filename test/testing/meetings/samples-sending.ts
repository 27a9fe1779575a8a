/** Features of `enqueue`, and of the contents of messages. */

import type { Unique } from '../../../core/kernel/app/unique.ts';
import { each, endOf, filling, one, three, workJob } from './jobs.ts';
import type { Sample, Seen } from './sample.ts';

const second = 1_000;
const minute = 60 * second;

export const delay: Sample = {
  promises: 'a job does not begin before its time',
  asksMs: 2 * minute,
  parts: (self) => ({ jobs: [workJob(self)] }),
  async send(self, round) {
    const notBefore = self.clock.now() + 2 * minute;
    const jobs = await each(self, three(round), () => ({ delayMs: 2 * minute }));
    return { jobs: jobs.map((job) => ({ ...job, notBefore })) };
  },
};

export const priority: Sample = {
  promises: 'a lower number runs first',
  parts: (self) => ({ jobs: [workJob(self)] }),
  send: async (self, round) => ({
    jobs: await each(self, three(round), (label) => ({ priority: label.startsWith('a') ? 8 : 1 })),
  }),
};

export const expiry: Sample = {
  promises: 'a job that has not begun in time does not begin',
  expires: true,
  parts: (self) => ({ jobs: [workJob(self, { expiresInMs: minute })] }),
  send: async (self, round) => ({ jobs: await each(self, three(round)) }),
};

export const idempotencyKey: Sample = {
  promises: 'only one of two jobs with the same key is done',
  parts: (self) => ({ jobs: [workJob(self, { idempotencyKey: ({ label }) => `key-${label}` })] }),
  send: async (self, round) => ({ jobs: await each(self, [...three(round), `a.${round}`]) }),
};

/** The second of two jobs with the same key finds the first. */
function unique(when: Unique['during']): Sample {
  return {
    promises: 'no second job while the first one is active, and a new one afterwards',
    takesBack: true,
    parts: (self) => ({ jobs: [workJob(self, { unique: { key: () => 'the one', during: when } })] }),
    send: async (self, round) => ({ jobs: await each(self, three(round)) }),
    check(seen) {
      const again = typeof when === 'object' ? [] : (seen.rounds.get('2')?.jobs ?? []);
      const isSwallowed = again.length > 0 && again.every(({ duplicate }) => duplicate);
      return [
        ...(isSwallowed ? ['the second round found an active job, but there is none'] : []),
        ...twoThatStand(seen, when),
      ];
    },
  };
}

/** If two jobs with the same key both count as new, the first must be inactive when the second comes. */
function twoThatStand({ rounds, runs, gone }: Seen, when: Unique['during']): string[] {
  if (when !== 'waiting' && when !== 'either') return [];
  const news = [...rounds.values()].flatMap(({ jobs }) => jobs).filter(({ duplicate }) => !duplicate);
  const inTime = news.toSorted((a, b) => a.sentAt! - b.sentAt!);
  return inTime.flatMap((one, i) => {
    const own = runs.filter(({ id }) => id === one.id);
    const begun = own[0]?.beganAt ?? Infinity;
    const standsUntil = when === 'waiting' ? begun : own.length > 0 ? endOf(own.at(-1)!) : Infinity;
    const beside = gone.has(one.id) ? [] : inTime.slice(i + 1).filter((other) => other.sentAt! < standsUntil);
    return beside.map((other) => `${other.label} is new, and ${one.label} stands`);
  });
}

export const uniqueWhileWaiting = unique('waiting');
export const uniqueWhileRunning = unique('running');
export const uniqueUntilEnded = unique('either');
export const throttle = unique({ forMs: 10 * minute });

export const debounce: Sample = {
  promises: 'several calls make one job with the payload of the last call',
  replaces: true,
  asksMs: 20 * second,
  parts: (self) => ({
    jobs: [workJob(self, { debounce: { key: () => 'the one', waitMs: 20 * second } })],
  }),
  async send(self, round) {
    const sent = await each(self, three(round));
    const { duplicate: _, ...last } = sent.at(-1)!;
    return { jobs: [{ ...last, notBefore: self.clock.now() + 20 * second }] };
  },
};

export const offloadedPayload: Sample = {
  promises: 'a large payload reaches its handler, and is deleted when its job is done',
  offloads: true,
  parts: (self) => ({ jobs: [workJob(self)], maxBodyBytes: 2_048 }),
  async send(self, round) {
    const jobs = [];
    for (const label of three(round)) jobs.push(await one(self, { label, filling }));
    return { jobs };
  },
  async check({ payloads, runs, people, gone, undone, changed }) {
    const cut = runs.filter((run) => run.work.filling !== filling);
    const records = (await people.client.stores.records.page({ max: 100 })).records;
    // Payloads that are no longer needed are left to the lifecycle rule of the store.
    const kept =
      records.filter(({ status }) => status !== 'completed').length + gone.size + undone.size + changed.size;
    return [
      ...cut.map(({ label }) => `${label} got another payload`),
      ...(payloads.size > kept
        ? [`${payloads.size} payloads are kept, for ${kept} jobs that are not done`]
        : []),
    ];
  },
};

export const retentionOfZero: Sample = {
  promises: 'the record of a job goes when it ends',
  forgets: true,
  parts: (self) => ({ jobs: [workJob(self, { retention: { completedMs: 0, deadMs: 0 } })] }),
  send: async (self, round) => ({ jobs: await each(self, three(round)) }),
  async check({ people }) {
    const records = (await people.client.stores.records.page({ max: 100 })).records;
    // Applies to jobs that were ended by an attempt, not to jobs that were cancelled while they waited.
    const kept = records.filter(({ status }) => status !== 'cancelled');
    return kept.map(({ id, status }) => `${id} is still kept: ${status}`);
  },
};

export const labelsAndTenant: Sample = {
  also: ['records'],
  promises: 'a job keeps its label and its tenant, wherever it goes',
  parts: (self) => ({ jobs: [workJob(self)] }),
  send: async (self, round) => ({
    jobs: await each(self, three(round), (name) => ({ name, context: { tenantId: 'acme' } })),
  }),
  async check({ people, runs }) {
    const records = (await people.client.stores.records.page({ max: 100 })).records;
    return [
      ...records.flatMap(({ id, name, tenantId }) =>
        name === null || tenantId !== 'acme' ? [`${id} has name ${name} and tenant ${tenantId}`] : [],
      ),
      ...runs.flatMap(({ label, tenantId }) =>
        tenantId === 'acme' ? [] : [`the handler of ${label} got tenant ${tenantId}`],
      ),
    ];
  },
};
