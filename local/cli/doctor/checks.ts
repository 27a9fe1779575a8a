/** Checks of queues, workers, schedules, clocks and signing keys, and of messages that the keys do not verify. */

import { hostname } from 'node:os';
import type { Check, Looked, Problem } from '../../../core/contract/diagnosis.ts';
import type { KeyRing } from '../../../core/envelope/signing.ts';
import { keepsSchedules } from '../../../core/kernel/enqueue/backends.ts';
import { CannotLook, check } from '../../../core/kit/diagnosis/checks-of.ts';
import { type Answer, deadLettersWithin, schedulesTicked } from '../commands/health.ts';
import { count, span, when } from '../output/ui.ts';
import type { DoctorFacts } from './facts.ts';

/** A smaller clock skew has no effect on delays and leases. */
const leastSkewMs = 1_000;
/** The default length of a lease. */
const grossSkewMs = 30_000;
const mostLateMs = 120_000;

export const jobChecks: readonly Check<DoctorFacts>[] = [
  check('jobs.lease', 'error', async ({ app, session }) => {
    const { limits, name } = await session.backend();
    const { maxLeaseMs } = limits;
    if (maxLeaseMs === null) return [];
    return [...app.jobs.values()]
      .filter(({ timeoutMs }) => timeoutMs > maxLeaseMs)
      .map((job) => ({
        where: `job "${job.name}"`,
        text: `It may run for ${span(job.timeoutMs)}, and ${name} holds a lease for ${span(maxLeaseMs)} at most: no worker starts.`,
        remedy: `Lower its timeoutMs to ${maxLeaseMs} or less, or cut the job in steps.`,
      }));
  }),
];

export const queueChecks: readonly Check<DoctorFacts>[] = [
  check('clock.skew', 'warning', async ({ session, io }) => {
    const backend = await session.backend();
    if (!backend.now)
      return { because: `${backend.name} has no time of its own: the clock of each host decides` };
    const before = io.clock.now();
    const there = await backend.now();
    const after = io.clock.now();
    const skewMs = there - (before + after) / 2;
    const sureMs = Math.abs(skewMs) - (after - before) / 2;
    if (sureMs <= leastSkewMs) return [];
    return {
      where: hostname(),
      text: `The clock of this host is ${span(Math.abs(skewMs))} ${skewMs > 0 ? 'behind' : 'ahead of'} that of ${backend.name}: records and delays of this host are off by it.`,
      remedy: 'Let both hosts follow a time server (chrony, systemd-timesyncd).',
      severity: sureMs > grossSkewMs ? 'error' : 'warning',
    };
  }),
  check('workers.clock', 'warning', async ({ beats, now }) => {
    const found = await beats();
    const at = await now();
    const ahead = Map.groupBy(
      found.filter(({ seenAt }) => seenAt - at > leastSkewMs),
      ({ host }) => host,
    );
    return [...ahead].map(([host, workers]) => ({
      where: host,
      text: `Its workers' heartbeats are ${span(Math.max(...workers.map(({ seenAt }) => seenAt - at)))} in the future: its clock is ahead, so a dead worker there is noticed late.`,
      remedy: 'Let the host follow a time server (chrony, systemd-timesyncd).',
    }));
  }),
  check('queues.unserved', 'warning', async ({ app, session, stats, health }) => {
    const { name } = await session.backend();
    const workers = await health.healthyWorkers();
    if (workers.length === 0 && servedByFunctions.includes(name))
      return { because: `functions may serve the queues of ${name}, and they send no heartbeat` };
    const served = new Set(workers.flatMap(({ queues }) => queues));
    const waiting = new Map((await stats())?.map(({ queue, ready, paused }) => [queue, paused ? 0 : ready]));
    return app.queues
      .filter((queue) => !served.has(queue))
      .map((queue): Problem => {
        const ready = waiting.get(queue) ?? 0;
        return {
          where: `queue "${queue}"`,
          text:
            ready > 0
              ? `${count(ready, 'job')} ready, and no worker serves it.`
              : 'No worker serves it: its jobs will wait.',
          remedy: `Start one with longshore work ${queue}.`,
          severity: ready > 0 ? 'error' : 'warning',
        };
      });
  }),
  check('queues.unknown', 'warning', async (facts) => {
    const { app } = facts;
    return (await listedQueues(facts))
      .filter(({ queue, ready, delayed }) => !app.queues.includes(queue) && ready + delayed > 0)
      .map(({ queue, ready, delayed }) => ({
        where: `queue "${queue}"`,
        text: `${count(ready + delayed, 'job')} wait in it, but this app does not declare it, so its workers do not serve it.`,
        remedy: `Run the app that it belongs to, or longshore work --any-queue ${queue}, or empty it with longshore clear ${queue}.`,
      }));
  }),
  check('queues.paused', 'warning', async (facts) => {
    return (await listedQueues(facts))
      .filter(({ paused }) => paused)
      .map(({ queue, ready }) => ({
        where: `queue "${queue}"`,
        text: `It is paused, with ${count(ready, 'job')} ready.`,
        remedy: `Run longshore resume ${queue} once it may go on.`,
      }));
  }),
  check('payloads.lifecycle', 'note', async ({ session }) => {
    const { stores } = await session.client();
    if (!stores.payloads) return [];
    return {
      because:
        'a payload store does not report its lifecycle rule, which must keep payloads as long as messages and dead letters',
    };
  }),
  check('dead.budget', 'warning', async ({ health, limits }) =>
    lookedAt('dead letters', await deadLettersWithin(health, limits.maxDead)),
  ),
  check('schedules.late', 'error', async ({ app, health }) => {
    if (app.schedules.length === 0) return [];
    return lookedAt('schedules', await schedulesTicked(health, mostLateMs));
  }),
  check('alerts.firing', 'warning', async ({ app, session }) => {
    if (!app.alerts) return [];
    const operator = await session.operator();
    const { alerts } = await operator.alerts.list();
    const firing = alerts.filter(({ state }) => state === 'firing');
    const blind = alerts.find(({ state }) => state === 'unknown');
    if (firing.length === 0 && blind) return { because: `${blind.alert} cannot tell: ${blind.text}` };
    return firing.map(({ alert, text, severity }) => ({
      where: `alert "${alert}"`,
      text: `It fires (${severity}): ${text}`,
      remedy: 'See longshore alerts.',
    }));
  }),
];

const servedByFunctions = ['sqs', 'servicebus'];

async function listedQueues({ session, stats }: DoctorFacts) {
  const queues = await stats();
  if (!queues) throw new CannotLook(`${(await session.backend()).name} does not list its queues`);
  return queues;
}

function lookedAt(where: string, [ok, text, remedy = '']: Answer): Looked {
  if (ok === null) return { because: text };
  return ok ? [] : { where, text: `${text}.`, remedy: `${remedy}.` };
}

const dayMs = 86_400_000;
/** A warning if unsigned messages will be refused within this time: their producers must sign by then. */
const soonMs = 7 * dayMs;
/** Longer than a roll-out takes. */
const longMs = 30 * dayMs;
/** The signing key, and the one before or after it. */
const usualKeys = 2;
const looked = 500;
/** Only the first schedules by name are checked. */
const mostSchedules = 1_000;

export const staticKeyChecks: readonly Check<DoctorFacts>[] = [
  check('keys.missing', 'error', ({ app }) => {
    app.keyRing(); // throws with the remedy
    return [];
  }),
  check('keys.development', 'error', ({ app, io }) => {
    const { kid } = usableRing(app);
    if (!isDevelopmentKey(kid) || io.env.NODE_ENV !== 'production') return [];
    return {
      where: 'LONGSHORE_SIGNING_KEYS',
      text: `NODE_ENV is production, but the signing key is "${kid}", a development key from a file.`,
      remedy: 'Make one with longshore keys new, and rotate to it: docs/operations.md says how.',
    };
  }),
  check('keys.unsigned', 'warning', ({ app, io }) => {
    const { acceptUnsignedUntil: until } = usableRing(app);
    if (until === null) return [];
    const leftMs = until - io.clock.now();
    const at = when(until);
    if (leftMs <= 0) {
      const text = `acceptUnsignedUntil ended at ${at}: it has no effect any more.`;
      const remedy = 'Leave it out of keyRing().';
      return { where: 'keyRing()', text, remedy, severity: 'note' };
    }
    const near = `From ${at} on, in ${span(leftMs)}, unsigned messages become dead letters.`;
    const far = `Unsigned messages are accepted until ${at}, for another ${span(leftMs)}: anyone who can write to the queue can run jobs.`;
    if (leftMs <= soonMs)
      return { where: 'keyRing()', text: near, remedy: 'Let every producer sign before that.' };
    const remedy = 'Set acceptUnsignedUntil to the end of the roll-out, and leave it out afterwards.';
    return { where: 'keyRing()', text: far, remedy, severity: leftMs > longMs ? 'error' : 'warning' };
  }),
  check('keys.rotation', 'note', ({ app }) => {
    const own = usableRing(app).kids.filter((kid) => !isDevelopmentKey(kid));
    if (own.length <= usualKeys) return [];
    return {
      where: 'the key ring',
      text: `${own.length} keys verify messages (${own.join(', ')}): some rotations are not finished.`,
      remedy: 'Remove keys whose messages are all done, dead letters included.',
    };
  }),
];

export const liveKeyChecks: readonly Check<DoctorFacts>[] = [
  check('keys.shared', 'error', async ({ app, beats }) => {
    if (!isDevelopmentKey(usableRing(app).kid)) return [];
    const others = [...new Set((await beats()).map(({ host }) => host))].filter((one) => one !== hostname());
    if (others.length === 0) return [];
    return {
      where: others.join(', '),
      text: 'Workers on other hosts serve these queues, and this host signs with its own development key: they refuse its jobs.',
      remedy: 'Give all of them the same LONGSHORE_SIGNING_KEYS.',
    };
  }),
  check('keys.refused', 'error', async ({ session, stats, now }) => {
    const { admin, name } = await session.backend();
    const queues = await stats();
    if (!admin || !queues) return { because: `${name} does not list its dead letters` };
    const since = (await now()) - dayMs;
    const found: Problem[] = [];
    for (const { queue } of queues.filter(({ dead }) => dead > 0)) {
      const letters = await admin.deadLetters.list({ queue, max: looked });
      for (const [code, meaning] of Object.entries(refusals)) {
        const own = letters.filter(({ diedAt, error }) => diedAt >= since && error.startsWith(`${code}:`));
        if (own.length === 0) continue;
        found.push({
          where: `queue "${queue}"`,
          text: `${count(own.length, 'message')} of the last 24 h ${own.length === 1 ? 'was' : 'were'} refused with ${code}: ${meaning}`,
          remedy: `See longshore dead list --queue ${queue}. Give the producer the key, then longshore dead retry.`,
        });
      }
    }
    return found;
  }),
  check('keys.schedules', 'error', async ({ session }) => {
    const client = await session.client();
    if (!keepsSchedules(client)) return [];
    const { schedules } = await client.schedules.list({ max: mostSchedules });
    return schedules.flatMap(({ name, failure }) =>
      failure && Object.hasOwn(refusals, failure.code)
        ? {
            where: `schedule "${name}"`,
            text: `It enqueues nothing: ${failure.code}: ${failure.message}`,
            remedy: `Upsert it again, add the key, or remove it: longshore schedule remove ${name}`,
          }
        : [],
    );
  }),
];

export const noKeyRing = { because: 'there is no usable signing key' };

/** `null` = no usable key, which the check `keys.missing` reports. */
export function keyRingOf({ keyRing }: DoctorFacts['app']): KeyRing | null {
  try {
    return keyRing();
  } catch {
    return null;
  }
}

function usableRing(app: DoctorFacts['app']): KeyRing {
  const ring = keyRingOf(app);
  if (!ring) throw new CannotLook(noKeyRing.because);
  return ring;
}

const refusals: Readonly<Record<string, string>> = {
  UNKNOWN_KEY: 'a producer signs with a key that is not on the ring.',
  SIGNATURE: 'a producer does not sign or has another key with this id, or the job is forged.',
};

const isDevelopmentKey = (kid: string): boolean => kid === 'dev' || kid.startsWith('dev-');
