/** Counts what the app reports. Called for every job: it looks up labels and adds numbers, and nothing else. */

import type { EventListener, LongshoreEvent, Outcome } from '../../core/base/events.ts';
import type { AbandonReason } from '../../core/contract/outcome.ts';
import { endingOf } from '../../core/features/metrics/tally.ts';
import type { App } from '../../core/kernel/app/app.ts';
import type { MetricsSettings, Registrar } from './registrar.ts';

const outcomes: readonly Outcome[] = ['acked', 'requeued', 'dead-lettered', 'rejected', 'skipped-idempotent'];
const reasons: readonly AbandonReason[] = ['permanent', 'exhausted', 'crash-loop', 'rejected', 'expired'];

export function countEvents(
  { jobs }: App,
  { counter, histogram }: Registrar,
  { maxTenants, maxLabelSets, durationBuckets, waitBuckets }: MetricsSettings,
  labels: LabelSets,
  countFailure: (queue: string) => void,
): EventListener {
  const ofJob = ['queue', 'job'];
  const ofAttempt = maxTenants > 0 ? [...ofJob, 'tenant'] : ofJob;
  const processed = counter('queue_jobs_processed_total', 'Attempts that ended, by outcome.', [
    ...ofAttempt,
    'outcome',
  ]);
  const failed = counter(
    'queue_jobs_failed_total',
    'Attempts that failed, whether the job runs again or not.',
    ofAttempt,
  );
  const deadLettered = counter(
    'queue_jobs_dead_lettered_total',
    'Jobs that became dead letters, by reason.',
    [...ofAttempt, 'reason'],
  );
  const lost = counter(
    'queue_leases_lost_total',
    'Attempts that had lost their lease, and so changed nothing.',
    ofJob,
  );
  const enqueued = counter('queue_jobs_enqueued_total', 'Jobs that this process has enqueued, by priority.', [
    ...ofJob,
    'priority',
  ]);
  const duration = histogram(durationBuckets, 'queue_job_duration_seconds', 'How long attempts took.', ofJob);
  const wait = histogram(
    waitBuckets,
    'queue_job_wait_seconds',
    'How long jobs were ready before their first attempt began.',
    ofJob,
  );

  function count(event: Extract<LongshoreEvent, { type: 'job.settled' }>): void {
    const { queue, outcome, reason, durationMs, waitMs } = event;
    const job = event.job || unknownJob;
    const own = labels.of(queue, job);
    const ending = endingOf(event);
    if (ending === 'lost') {
      lost.inc(own, 1);
      return;
    }
    if (!event.counted) return; // released as if it had never begun
    const attempt = maxTenants === 0 ? own : labels.withTenant(queue, job, event.tenantId);
    processed.inc({ ...attempt, outcome }, 1);
    if (ending === 'dead') deadLettered.inc({ ...attempt, reason: reason ?? '' }, 1);
    if (ending === 'dead' || ending === 'retried') {
      failed.inc(attempt, 1);
      countFailure(own.queue);
    }
    // What was refused has not run, and would look like a very fast job.
    if (outcome !== 'rejected' && outcome !== 'skipped-idempotent') duration.observe(own, durationMs / 1000);
    if (waitMs !== null) wait.observe(own, waitMs / 1000);
  }

  /** Prometheus sees how much a series grows, so one that begins with 1 hides its first failure. */
  function beginAtZero(): void {
    for (const job of jobs.values()) {
      const own = labels.of(job.queue, job.name);
      for (const outcome of outcomes) processed.inc({ ...own, outcome }, 0);
      for (const reason of reasons) deadLettered.inc({ ...own, reason }, 0);
      failed.inc(own, 0);
    }
  }
  if (maxTenants === 0 && jobs.size <= maxLabelSets) beginAtZero();

  return (event) => {
    if (event.type === 'job.settled') count(event);
    else if (event.type === 'job.enqueued')
      enqueued.inc({ ...labels.of(event.queue, event.job), priority: String(event.priority) }, 1);
  };
}

interface JobLabels extends Readonly<Record<string, string>> {
  readonly queue: string;
  readonly job: string;
}

export const other = 'other';
/** Stands for a job that this app does not know: its name is not verified, and may be anything. */
export const unknownJob = 'unknown';

/** The labels of a job's series. */
type LabelSets = ReturnType<typeof createLabelSets>;

/**
 * Labels within bounds: a server of metrics keeps a series for each set of labels, and dies of too many.
 *
 * @param overflow called whenever something is counted under `other`
 */
export function createLabelSets({ maxLabelSets, maxTenants }: MetricsSettings, overflow: () => void) {
  const pairs = boundedSets(maxLabelSets, overflow);
  const triples = boundedSets(maxLabelSets, overflow);
  const tenants = new Set<string>();

  function tenantOf(tenantId: string | null): string {
    if (tenantId === null || tenants.has(tenantId)) return tenantId ?? ''; // an empty label is none
    if (tenants.size < maxTenants) {
      tenants.add(tenantId);
      return tenantId;
    }
    overflow();
    return other;
  }

  return {
    of: (queue: string, job: string): JobLabels => pairs(queue, job),
    withTenant: (queue: string, job: string, tenantId: string | null): JobLabels =>
      triples(queue, job, tenantOf(tenantId)),
  };
}

type Find = (queue: string, job: string, tenant?: string) => JobLabels;

/** The first `most` sets have their names. What comes later is `other`, for each of at most `most` queues. */
function boundedSets(most: number, overflow: () => void): Find {
  const sets = new Map<string, JobLabels>();
  const others = new Map<string, JobLabels>();

  function kept(into: Map<string, JobLabels>, key: string, labels: JobLabels): JobLabels {
    into.set(key, labels);
    return labels;
  }

  return (queue, job, tenant) => {
    // No name has a space, and a tenant, which may have, is the last.
    const key = tenant === undefined ? `${queue} ${job}` : `${queue} ${job} ${tenant}`;
    const known = sets.get(key);
    if (known) return known;
    const more = tenant === undefined ? null : { tenant };
    if (sets.size < most) return kept(sets, key, { queue, job, ...more });
    overflow();
    const rest = more && { tenant: other };
    const name = others.has(queue) || others.size < most ? queue : other;
    return others.get(name) ?? kept(others, name, { queue: name, job: other, ...rest });
  };
}
