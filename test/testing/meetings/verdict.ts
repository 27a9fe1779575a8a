/** Judges a world by what its handlers have done, and by what people are told. */

import type { JobRecord } from '../../../core/contract/store.ts';
import type { Meeting } from './event.ts';
import type { Fate, SentJob } from './feature.ts';
import type { World } from './world.ts';

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired']);

/** What is not as it should be at the end; nothing = all is well. */
export async function complaintsOf(world: World, meeting: Meeting): Promise<string[]> {
  const records = new Map((await world.records()).map((record) => [record.id, record]));
  return [
    ...workNotDone(world, meeting, records),
    ...untrueRecords(world, records),
    ...(await wrongResults(world, records)),
    ...(await leftInQueues(world, records)),
    ...(await leftInLimits(world)),
    ...(await wrongBatches(world)),
    ...(await wrongChains(world)),
    ...((await world.feature.check?.(world)) ?? []),
  ];
}

type Records = ReadonlyMap<string, JobRecord>;

function fateOf(world: World, records: Records, { id }: SentJob): Fate {
  if (world.gone.has(id)) return 'gone';
  const { status = 'cancelled', reason = null } = records.get(id) ?? {};
  if (status === 'cancelled') return 'gone';
  return status === 'failed' && (reason === 'crash-loop' || reason === 'exhausted') ? 'dead' : 'done';
}

function workNotDone(world: World, { again = 0 }: Meeting, records: Records): string[] {
  const wanted = new Map<string, number>();
  for (const [round, { jobs }] of world.rounds) {
    const fates = new Map<string, Fate>();
    for (const sent of jobs) {
      const fate = fateOf(world, records, sent);
      fates.set(sent.label, fate);
      if (!sent.duplicate) wanted.set(sent.label, fate === 'done' ? 1 : 0);
    }
    const follows = world.feature.follows?.((label) => fates.get(label) ?? 'done', round) ?? {};
    for (const [label, times] of Object.entries(follows)) wanted.set(label, times);
  }
  const complaints: string[] = [];
  const done = Map.groupBy(world.runs, ({ label }) => label);
  for (const label of new Set([...wanted.keys(), ...done.keys()])) {
    const least = wanted.get(label) ?? 0;
    const times = done.get(label)?.filter(({ end }) => end === 'done').length ?? 0;
    if (times < least) complaints.push(`${label} was done ${times} times, not ${least}`);
    if (times > least + again + world.resent)
      complaints.push(`${label} was done ${times} times, at most ${least + again}`);
  }
  return complaints;
}

/** Records against what handlers have done. */
function untrueRecords(world: World, records: Records): string[] {
  const complaints: string[] = [];
  const done = new Set(world.runs.filter(({ end }) => end === 'done').map(({ id }) => id));
  const sent = [...world.rounds.values()].flatMap(({ jobs }) => jobs);
  for (const { id, status, job } of records.values()) {
    if (!ended.has(status)) complaints.push(`${job} ${id} is still ${status}`);
    if (status === 'completed' && !done.has(id))
      complaints.push(`${job} ${id} is told to be completed, and nothing was done`);
    if (status !== 'completed' && done.has(id) && ended.has(status) && !world.gone.has(id))
      complaints.push(`${job} ${id} was done, and is told to be ${status}`);
  }
  for (const { id, label, duplicate } of sent) {
    const isKnown = records.has(id) || world.gone.has(id);
    if (!isKnown) complaints.push(`${label} (${id}) has no record`);
    if (duplicate && !sent.some((other) => other.id === id && !other.duplicate))
      complaints.push(`${label} was told that ${id} stands for it, which nobody has sent`);
  }
  return complaints;
}

const codeOf: Readonly<Record<string, string>> = {
  cancelled: 'CANCELLED',
  failed: 'HANDLER',
  expired: 'EXPIRED',
};

async function wrongResults(world: World, records: Records): Promise<string[]> {
  const complaints: string[] = [];
  for (const { jobs } of world.rounds.values())
    for (const { id, job, label } of jobs) {
      const status = records.get(id)?.status;
      const expected =
        status === undefined ? 'NOT_FOUND' : (codeOf[status] ?? (ended.has(status) ? 'ok' : 'TIMEOUT'));
      const told = await world.people.client.result(job, id, { timeoutMs: 0 }).then(
        () => 'ok',
        ({ code }) => code as string,
      );
      if (told !== expected) complaints.push(`the result of ${label} is ${told}, and its status ${status}`);
    }
  return complaints;
}

async function leftInQueues(world: World, records: Records): Promise<string[]> {
  const { admin } = world.people.client.backend;
  const complaints: string[] = [];
  let dead = 0;
  for (const { queue, ready, delayed, leased, dead: letters } of await admin!.stats()) {
    dead += letters;
    if (ready + delayed + leased > 0)
      complaints.push(`queue ${queue} has ${ready} ready, ${delayed} delayed, ${leased} leased jobs`);
  }
  const died = [...records.values()].filter(
    ({ status }) => status === 'failed' || status === 'expired',
  ).length;
  if (dead !== died) complaints.push(`${dead} dead letters, and ${died} records of dead jobs`);
  return complaints;
}

async function leftInLimits(world: World): Promise<string[]> {
  const { limits } = world.people.client.stores;
  const left = (await limits?.list({ max: 100 })) ?? [];
  return left.flatMap(({ key, used, waiting }) => {
    const isHeld = used > 0 && !key.includes(':rate');
    return [
      ...(isHeld ? [`${used} slots of ${key} are in use`] : []),
      ...(waiting > 0 ? [`${waiting} wait for ${key}`] : []),
    ];
  });
}

async function wrongBatches(world: World): Promise<string[]> {
  const complaints: string[] = [];
  for (const { batches = [] } of world.rounds.values())
    for (const id of batches) {
      const batch = await world.people.client.batches.get(id);
      if (batch?.state !== 'complete' && batch?.state !== 'cancelled')
        complaints.push(
          `batch ${id} is ${batch?.state}: ${batch?.succeeded} + ${batch?.failed} of ${batch?.total}`,
        );
    }
  return complaints;
}

async function wrongChains(world: World): Promise<string[]> {
  const complaints: string[] = [];
  for (const { chains = [] } of world.rounds.values())
    for (const id of chains) {
      const chain = await world.people.client.chains.get(id);
      if (!chain || chain.state === 'running') complaints.push(`chain ${id} is ${chain?.state}`);
    }
  return complaints;
}
