/** Why a job waits, in words for people. */

import { isName } from '../../base/checks.ts';
import { span } from '../../base/duration.ts';
import type { JobRecord } from '../../contract/store.ts';
import { sharedKey } from '../../kernel/app/flow-control.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { goneAfterMs } from '../../kit/worker-state.ts';
import { stepsOf, whySleeps } from '../steps/show.ts';
import { type LimitView, limitView } from './views.ts';

/** Explains a job that no limit, pause or event holds back. */
export const onlyAWorker = 'ready: it waits for a free worker';

/** How many holders of slots are named. */
const mostNamed = 3;

/** All known reasons, or a sentence that there is none. Empty for a job that runs or has ended. */
export async function whyWaits(client: Client, record: JobRecord): Promise<string[]> {
  if (record.status !== 'pending' && record.status !== 'retrying') return [];
  const { app, backend, stores } = client;
  const { queue } = record;
  const [now, limits, stats, beats] = await Promise.all([
    backend.now?.() ?? app.clock.now(),
    limitsOf(client, record),
    backend.admin?.stats(queue) ?? [],
    stores.workers.list(app.clock.now() - goneAfterMs),
  ]);
  const whys = [
    ...limits.map((limit) => limitText(limit, record, now)),
    ...whySleeps((await stepsOf(stores, record.id, now)).steps, now),
  ];
  if (whys.length === 0 && record.runAt > now) whys.push(timeText(record, now));
  if (stats.some((one) => one.queue === queue && one.paused))
    whys.push(`queue ${queue} is paused: none of its jobs starts until it is resumed`);
  if (!beats.some(({ queues, draining }) => queues.includes(queue) && !draining))
    whys.push(`no worker is running for queue ${queue}; only a function could take the job`);
  return whys.length > 0 ? whys : [onlyAWorker];
}

/** The limits that refused the job, and others that would refuse it. */
async function limitsOf(client: Client, record: JobRecord): Promise<LimitView[]> {
  const { id, job, attempts } = record;
  const { limits } = client.stores;
  if (!limits) return [];
  const stops = isName(job) ? [`pause:${job}`, `breaker:${job}:open`] : [];
  // The waiter's name in an earlier release.
  const next = `${id}#${(attempts.at(-1)?.attempt ?? 0) + 1}`;
  const waits = await limits.waitsFor([id, next]);
  const asked = waits.flat().filter((key) => !stops.includes(key));
  const others = withoutKey(client, record).filter((key) => !asked.includes(key));
  const views = await Promise.all([...stops, ...asked, ...others].map((key) => limitView(client, key)));
  return views.flatMap((view) => {
    if (view === null || !(asked.includes(view.key) || isClosed(view))) return [];
    return others.includes(view.key) ? { ...view, waiting: view.waiting + 1 } : view;
  });
}

/** The limits that a ready job has not asked, because workers leave out its queue while they are full. */
function withoutKey({ app }: Client, { job, queue, runAt }: JobRecord): string[] {
  if (runAt > app.clock.now()) return [];
  return [...(app.queueRules.get(queue)?.limits ?? []), ...(app.jobs.get(job)?.limits ?? [])]
    .filter(({ keyOf }) => keyOf === null)
    .map(sharedKey);
}

const isClosed = ({ heldUntil, used, limit }: LimitView): boolean =>
  heldUntil !== null || (limit !== null && used >= limit);

const timeText = ({ status, runAt }: JobRecord, now: number): string =>
  status === 'retrying' ? `retry in ${span(runAt - now)}` : `delayed until ${momentText(runAt, now)}`;

const momentText = (at: number, now: number): string =>
  `${new Date(at).toISOString()} (in ${span(Math.max(0, at - now))})`;

function limitText(view: LimitView, { runAt }: JobRecord, now: number): string {
  const { of, name, kind, heldUntil, waiting } = view;
  if (kind === 'pause') return `job ${name} is paused: none of its jobs begins until it is resumed`;
  const until = heldUntil === 'reset' ? 'until it is reset' : `until ${momentText(heldUntil ?? 0, now)}`;
  if (kind === 'breaker')
    return heldUntil === null
      ? `the breaker of job ${name} lets one job try first: ${namesOf(view)}`
      : `the breaker of job ${name} is open ${until}: too many of its attempts have failed`;
  const parts = [`${of} ${name} ${ruleText(view)}: `];
  if (heldUntil !== null)
    parts.push(kind === 'rate' ? `held by ctx.rateLimited() ${until}` : `held ${until}`);
  else parts.push(slotsText(view, now));
  if (waiting > 1)
    parts.push(`, ${waiting - 1} ${waiting === 2 ? 'other job waits' : 'other jobs wait'} too`);
  if (kind === 'rate' && runAt > now) parts.push(`, this one begins in ${span(runAt - now)}`);
  return parts.join('');
}

/** `runs 1 at a time for key "c-7"`, `begins 100 in 60 s`. */
function ruleText({ kind, limit, perMs, keyPart }: LimitView): string {
  const some = limit === null ? 'some' : limit;
  const rule =
    kind === 'rate'
      ? `begins ${some} in ${perMs === null ? 'a while' : span(perMs)}`
      : `runs ${some} at a time`;
  return keyPart === null ? rule : `${rule} for key ${JSON.stringify(keyPart)}`;
}

function slotsText(view: LimitView, now: number): string {
  const { kind, limit, used, holders } = view;
  if (limit === null || used < limit) return 'a slot is free for the next one';
  if (kind === 'rate')
    return `the next slot is free in ${span(Math.max(0, (holders[0]?.until ?? now) - now))}`;
  return `${used} of ${limit} slots in use by job ${namesOf(view)}`;
}

function namesOf({ used, holders }: LimitView): string {
  const named = holders.slice(0, mostNamed).map(({ id }) => id);
  return `${named.join(', ')}${used > named.length ? ` and ${used - named.length} more` : ''}`;
}
