/** Judges a world by the work of its handlers and by its records and answers. */

import type { JobRecord } from '../../../core/contract/store.ts';
import type { Meeting } from './event.ts';
import { poison } from './process.ts';
import type { Fate, SentJob, Times } from './sample.ts';
import { recordsOf, type World } from './world.ts';

/** The note of a changed payload. */
export const changed = 'changed';

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired']);

/** Everything that is wrong at the end; empty = all is well. */
export async function complaintsOf(world: World, meeting: Meeting): Promise<string[]> {
  const records = new Map((await recordsOf(world.people)).map((record) => [record.id, record]));
  return [
    ...workNotDone(world, meeting, records),
    ...untrueRecords(world, meeting, records),
    ...untruePromises(world, meeting),
    ...(await wrongResults(world, records)),
    ...(await leftInQueues(world, records)),
    ...(await leftInLimits(world)),
    ...(await wrongBatches(world, records)),
    ...(await wrongChains(world)),
    ...(meeting.splits ? [] : ((await world.sample.check?.(world)) ?? [])),
  ];
}

type Records = ReadonlyMap<string, JobRecord>;

/** How a job ended, as far as its end is excused. */
function fateOf(world: World, records: Records, sent: SentJob): Fate {
  const { id } = sent;
  if (world.gone.has(id)) return 'gone';
  const record = records.get(id);
  if (!record && world.mayDie.has(id) && !world.mended.has(id)) return 'dead';
  if (record?.status === 'cancelled' || record?.status === 'expired') return 'gone';
  if (sent.label.startsWith(poison)) return 'dead';
  if (record?.status === 'failed') return 'dead';
  return world.mended.has(id) ? 'mended' : 'done';
}

function workNotDone(world: World, { again = 0 }: Meeting, records: Records): string[] {
  const wanted = new Map<string, Times>();
  for (const [round, { jobs }] of world.rounds) {
    const fates = new Map<string, Fate>();
    for (const sent of jobs) {
      if (sent.duplicate) {
        if (!wanted.has(sent.label)) wanted.set(sent.label, 0);
        continue;
      }
      const fate = fateOf(world, records, sent);
      const isDone = fate === 'done' || fate === 'mended';
      fates.set(sent.label, fate);
      const times = isDone ? 1 : world.stopped.has(sent.id) ? ([0, 1] as const) : 0;
      // Two jobs may share one piece of work.
      if (isDone || !wanted.has(sent.label)) wanted.set(sent.label, times);
    }
    const follows = world.sample.follows?.((label) => fates.get(label) ?? 'done', round) ?? {};
    for (const [label, times] of Object.entries(follows)) wanted.set(label, times);
  }
  const complaints: string[] = [];
  const byLabel = Map.groupBy(world.runs, ({ label }) => label);
  for (const label of new Set([...wanted.keys(), ...byLabel.keys()])) {
    const times = wanted.get(label) ?? 0;
    const [least, most] = typeof times === 'number' ? [times, times] : times;
    const done = byLabel.get(label)?.filter(({ end }) => end === 'done').length ?? 0;
    if (done < least) complaints.push(`${label} was done ${done} times, not ${least}`);
    if (done > most + again + world.resent)
      complaints.push(`${label} was done ${done} times, ${most + again} at most`);
  }
  return complaints;
}

/** Compares records with the work of handlers. */
function untrueRecords(world: World, meeting: Meeting, records: Records): string[] {
  const complaints: string[] = [];
  const sent = [...world.rounds.values()].flatMap(({ jobs }) => jobs);
  const done = world.runs.filter(({ end }) => end === 'done');
  const doneIds = new Set(done.map(({ id }) => id));
  const doneLabels = new Set(done.map(({ label }) => label));
  for (const { id, status, job, error } of records.values()) {
    const name = `${job} ${id}`;
    const isDone = doneIds.has(id) || sent.some((one) => one.id === id && doneLabels.has(one.label));
    if (!ended.has(status)) complaints.push(`${name} is still ${status}`);
    if (status === 'completed' && !isDone)
      complaints.push(`${name} is completed according to its record, but nothing was done`);
    if (status === 'failed' && !world.mayDie.has(id) && !isPoison(sent, id))
      complaints.push(`${name} died: ${error}`);
    if (status === 'expired' && !isLate(world, meeting)) complaints.push(`${name} expired before its time`);
    const isTakenBack =
      world.sample.takesBack === true && !sent.some((one) => one.id === id && !one.duplicate);
    if (status === 'cancelled' && !world.gone.has(id) && !world.stopped.has(id) && !isTakenBack)
      complaints.push(`${name} was cancelled, but nothing requested this`);
  }
  for (const { id, label, duplicate } of sent) {
    const isGone = world.gone.has(id) || world.purged || world.sample.forgets;
    if (!records.has(id) && !isGone) complaints.push(`${label} (${id}) has no record`);
    const isKnown = sent.some((other) => other.id === id && !other.duplicate);
    if (duplicate && !isKnown)
      complaints.push(`${label} counts as a duplicate of ${id}, which was never sent`);
  }
  return complaints;
}

/** Whether the job may have expired. */
const isLate = (world: World, { takesMs = 0 }: Meeting): boolean =>
  world.sample.expires === true && (takesMs >= 60_000 || world.timeline.isStepped());

const isPoison = (sent: readonly SentJob[], id: string): boolean =>
  sent.some((one) => one.id === id && one.label.startsWith(poison));

/** Compares confirmed changes of payloads and times with what handlers saw. */
function untruePromises(world: World, { deafens, splits }: Meeting): string[] {
  const isExcused = splits || (deafens && world.sample.isOrdered);
  const complaints: string[] = [];
  for (const { jobs } of world.rounds.values())
    for (const { id, label, notBefore = 0 } of jobs) {
      const runs = world.runs.filter((run) => run.id === id);
      const time = world.times.get(id) ?? notBefore;
      if (!isExcused && runs.some(({ at }) => at < time)) complaints.push(`${label} began before its time`);
      const since = world.changed.get(id) ?? Infinity;
      if (runs.some(({ at, work }) => at > since && work.note !== changed))
        complaints.push(`${label} ran with the payload that it had before`);
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
      const told = await world.people.client
        .result(world.people.app.jobs.get(job)!, id, { timeoutMs: 0 })
        .then(
          () => 'ok',
          ({ code }) => code as string,
        );
      if (told !== expected)
        complaints.push(`the result of ${label} is ${told}, but its status is ${status}`);
    }
  return complaints;
}

async function leftInQueues(world: World, records: Records): Promise<string[]> {
  const complaints: string[] = [];
  let dead = 0;
  // A queue without `admin` cannot be inspected.
  if (world.people.clients.some(({ backend }) => !backend.admin)) return [];
  const stats = world.people.clients.map(({ backend }) => backend.admin!.stats());
  for (const { queue, ready, delayed, leased, dead: letters } of (await Promise.all(stats)).flat()) {
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
  const lists = world.people.clients.map(async ({ backend, stores }) => {
    const states = (await stores.limits?.list({ max: 100 })) ?? [];
    // If the queue wakes no jobs, a job that came by itself counts as waiting until its place in the line expires.
    return states.map((state) => ({ ...state, waiting: backend.pending ? state.waiting : 0 }));
  });
  return (await Promise.all(lists)).flat().flatMap(({ key, used, waiting }) => {
    // Rates and breakers count past jobs.
    const isHeld = used > 0 && !key.includes(':rate') && !key.startsWith('breaker:');
    return [
      ...(isHeld ? [`${used} slots of ${key} are in use`] : []),
      ...(waiting > 0 ? [`${waiting} wait for ${key}`] : []),
    ];
  });
}

async function wrongBatches(world: World, records: Records): Promise<string[]> {
  const complaints: string[] = [];
  for (const { batches = [], jobs } of world.rounds.values())
    for (const id of batches) {
      const { state, total, succeeded, failed } = (await world.people.client.batches.get(id)) ?? {};
      const name = `batch ${id} is ${state}, ${succeeded} + ${failed} of ${total}`;
      if (state !== 'complete' && state !== 'cancelled') complaints.push(name);
      const completed = jobs.filter((child) => records.get(child.id)?.status === 'completed');
      if (!world.purged && succeeded !== completed.length)
        complaints.push(`${name}, and ${completed.length} children have completed`);
    }
  return complaints;
}

async function wrongChains(world: World): Promise<string[]> {
  const complaints: string[] = [];
  for (const { chains = [], jobs } of world.rounds.values())
    for (const id of chains) {
      if (world.purged || jobs.some((one) => world.gone.has(one.id))) continue;
      const chain = await world.people.client.chains.get(id);
      if (!chain || chain.state === 'running') complaints.push(`chain ${id} is ${chain?.state}`);
    }
  return complaints;
}
