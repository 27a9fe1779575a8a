/** Judges a run by its effects and by what people are told, and knows nothing of how either comes about. */

import type { Seen } from './types.ts';

/** A job whose worker died, or lost its lease, runs once more. */
const mostRuns = 2;

export async function complaintsOf(seen: Seen): Promise<string[]> {
  return [...lostOrTwice(seen), ...outOfOrder(seen), ...(await untrue(seen))];
}

function lostOrTwice({ scenario, effects, again }: Seen): string[] {
  const complaints = again.map((one) => `ran again after its ack was confirmed: ${one}`);
  const expected = [...scenario.effects, ...(scenario.allowed ?? [])];
  const isExpected = (what: string) =>
    expected.some((one) => (one instanceof RegExp ? one.test(what) : one === what));
  const byWhat = Map.groupBy(effects, ({ what }) => what);
  if (!scenario.mayDie)
    for (const what of scenario.effects) if (!byWhat.has(what)) complaints.push(`lost: ${what}`);
  for (const [what, all] of byWhat) {
    if (!isExpected(what)) complaints.push(`not asked for: ${what}`);
    const ids = new Set(all.map(({ id }) => id));
    if (ids.size > 1 && !scenario.byEither)
      complaints.push(`${what} by ${ids.size} jobs: ${[...ids].join(', ')}`);
    else if (all.length > mostRuns) complaints.push(`${what} ${all.length} times, by job ${[...ids]}`);
  }
  return complaints;
}

function outOfOrder({ scenario, effects }: Seen): string[] {
  return (scenario.order ?? []).flatMap((names) => {
    const first = names.map((name) => effects.findIndex(({ what }) => what === name));
    const isSorted = first.every((at, i) => at === -1 || i === 0 || at > first[i - 1]!);
    return isSorted ? [] : [`out of order: ${names.map((name, i) => `${name} at ${first[i]}`).join(', ')}`];
  });
}

/** Compares what people are told at the end with what has happened. */
async function untrue({ scenario, client, backend }: Seen): Promise<string[]> {
  const complaints: string[] = [];
  const { dead = [], cancelled = [], mayDie = [] } = scenario;
  for (const { id, job, status } of (await client.stores.records.page({ max: 1_000 })).records) {
    const may = dead.includes(job) ? ['failed', 'completed'] : ['completed'];
    if (cancelled.includes(job)) may.push('cancelled');
    if (mayDie.includes(job)) may.push('failed');
    if (scenario.endless) may.push('pending', 'processing', 'retrying');
    if (!may.includes(status))
      complaints.push(`job ${job} ${id} is told to be ${status}, not ${may.join(' or ')}`);
  }
  for (const letter of await backend.admin!.deadLetters.list({}))
    if (![...dead, ...mayDie].includes(letter.job))
      complaints.push(`dead letter of ${letter.job}: ${letter.reason} ${letter.error}`);
  for (const { queue, ready, delayed, leased } of await backend.admin!.stats())
    if (ready + delayed + leased > 0 && !scenario.endless)
      complaints.push(`queue ${queue}: ${ready} ready, ${delayed} delayed, ${leased} leased`);
  for (const batch of (await client.batches.list({})) as readonly { id: string; state: string }[])
    if (batch.state !== 'complete') complaints.push(`batch ${batch.id} is told to be ${batch.state}`);
  for (const { key, used, waiting } of await client.stores.limits!.list({}))
    if (key.includes(':concurrency:') && used + waiting > 0)
      complaints.push(`limit ${key}: ${used} slots used, ${waiting} jobs waiting`);
  return [...complaints, ...((await scenario.told?.(client)) ?? [])];
}
