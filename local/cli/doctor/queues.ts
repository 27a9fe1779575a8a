/** Queues, workers, schedules and clocks as they are now. */

import { hostname } from 'node:os';
import type { Check, Looked, Problem } from '../../../core/contract/diagnosis.ts';
import { alertStates } from '../../../core/features/alerts/show.ts';
import { CannotLook } from '../../../core/kit/diagnosis/checks-of.ts';
import { type Answer, deadLettersWithin, schedulesTicked } from '../commands/health-checks.ts';
import { count, span } from '../output/ui.ts';
import type { DoctorFacts } from './facts.ts';

/** Delays and leases are told apart by less. */
const leastSkewMs = 1_000;
/** As long as a lease by default. */
const grossSkewMs = 30_000;
const mostLateMs = 120_000;

export const jobChecks: readonly Check<DoctorFacts>[] = [
  {
    id: 'jobs.lease',
    severity: 'error',
    async look({ app, session }) {
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
    },
  },
];

export const queueChecks: readonly Check<DoctorFacts>[] = [
  {
    id: 'clock.skew',
    severity: 'warning',
    async look({ session, io }) {
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
    },
  },
  {
    id: 'workers.clock',
    severity: 'warning',
    async look({ beats, now }) {
      const found = await beats();
      const at = await now();
      const ahead = Map.groupBy(
        found.filter(({ seenAt }) => seenAt - at > leastSkewMs),
        ({ host }) => host,
      );
      return [...ahead].map(([host, workers]) => ({
        where: host,
        text: `Its workers write heartbeats of a time that comes in ${span(Math.max(...workers.map(({ seenAt }) => seenAt - at)))}: its clock is ahead, and a worker that dies there is noticed late.`,
        remedy: 'Let the host follow a time server (chrony, systemd-timesyncd).',
      }));
    },
  },
  {
    id: 'queues.unserved',
    severity: 'warning',
    async look({ app, session, stats, health }) {
      const { name } = await session.backend();
      const workers = await health.healthyWorkers();
      if (workers.length === 0 && servedByFunctions.includes(name))
        return { because: `functions may serve the queues of ${name}, and they send no heartbeat` };
      const served = new Set(workers.flatMap(({ queues }) => queues));
      const waiting = new Map(
        (await stats())?.map(({ queue, ready, paused }) => [queue, paused ? 0 : ready]),
      );
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
    },
  },
  {
    id: 'queues.unknown',
    severity: 'warning',
    async look(facts) {
      const { app } = facts;
      return (await listedQueues(facts))
        .filter(({ queue, ready, delayed }) => !app.queues.includes(queue) && ready + delayed > 0)
        .map(({ queue, ready, delayed }) => ({
          where: `queue "${queue}"`,
          text: `${count(ready + delayed, 'job')} wait in it, and this app does not name it: its workers leave it alone.`,
          remedy: `Run the app that it belongs to, or longshore work --any-queue ${queue}, or empty it with longshore clear ${queue}.`,
        }));
    },
  },
  {
    id: 'queues.paused',
    severity: 'warning',
    async look(facts) {
      return (await listedQueues(facts))
        .filter(({ paused }) => paused)
        .map(({ queue, ready }) => ({
          where: `queue "${queue}"`,
          text: `It is paused, with ${count(ready, 'job')} ready.`,
          remedy: `Run longshore resume ${queue} once it may go on.`,
        }));
    },
  },
  {
    id: 'payloads.lifecycle',
    severity: 'note',
    async look({ session }) {
      const { stores } = await session.client();
      if (!stores.payloads) return [];
      return {
        because:
          'a payload store does not tell when it removes what is left over: its lifecycle rule must keep payloads for as long as messages and dead letters live',
      };
    },
  },
  {
    id: 'dead.budget',
    severity: 'warning',
    look: async ({ health, limits }) =>
      lookedAt('dead letters', await deadLettersWithin(health, limits.maxDead)),
  },
  {
    id: 'schedules.late',
    severity: 'error',
    async look({ app, health }) {
      if (app.schedules.length === 0) return [];
      return lookedAt('schedules', await schedulesTicked(health, mostLateMs));
    },
  },
  {
    id: 'alerts.firing',
    severity: 'warning',
    async look({ app, session }) {
      if (!app.alerts) return [];
      const { alerts } = await alertStates(app.alerts, await session.client());
      const firing = alerts.filter(({ state }) => state === 'firing');
      const blind = alerts.find(({ state }) => state === 'unknown');
      if (firing.length === 0 && blind) return { because: `${blind.alert} cannot tell: ${blind.text}` };
      return firing.map(({ alert, text, severity }) => ({
        where: `alert "${alert}"`,
        text: `It fires (${severity}): ${text}`,
        remedy: 'See longshore alerts.',
      }));
    },
  },
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
