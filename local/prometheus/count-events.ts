/** Counts the app's events. Called for every job, so it only looks up labels and adds numbers. */

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
    'Attempts that had lost their lease, so their end changed nothing.',
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
    if (!event.counted) return; // released, and does not count as an attempt
    const attempt = maxTenants === 0 ? own : labels.withTenant(queue, job, event.tenantId);
    processed.inc({ ...attempt, outcome }, 1);
    if (ending === 'dead') deadLettered.inc({ ...attempt, reason: reason ?? '' }, 1);
    if (ending === 'dead' || ending === 'retried') {
      failed.inc(attempt, 1);
      countFailure(own.queue);
    }
    // Leaves out jobs that did not run, which would look like very fast jobs.
    if (outcome !== 'rejected' && outcome !== 'skipped-idempotent') duration.observe(own, durationMs / 1000);
    if (waitMs !== null) wait.observe(own, waitMs / 1000);
  }

  /** Starts all series at 0. Prometheus sees only growth, so a series that starts at 1 would hide the first failure. */
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
/** Label for jobs that this app does not know, because their names are not verified. */
export const unknownJob = 'unknown';

/** The labels of a job's series. */
type LabelSets = ReturnType<typeof createLabelSets>;

/**
 * Limits the number of label sets, because Prometheus keeps a series for each set and fails with too many.
 *
 * @param overflow called for each value that is counted under `other`
 */
export function createLabelSets({ maxLabelSets, maxTenants }: MetricsSettings, overflow: () => void) {
  const pairs = boundedSets(maxLabelSets, overflow);
  const triples = boundedSets(maxLabelSets, overflow);
  const tenants = new Set<string>();

  function tenantOf(tenantId: string | null): string {
    if (tenantId === null || tenants.has(tenantId)) return tenantId ?? ''; // an empty label means no label
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

/** The first `most` sets keep their names. Later ones are counted as `other`, by queue for up to `most` queues. */
function boundedSets(most: number, overflow: () => void): Find {
  const sets = new Map<string, JobLabels>();
  const others = new Map<string, JobLabels>();

  function kept(into: Map<string, JobLabels>, key: string, labels: JobLabels): JobLabels {
    into.set(key, labels);
    return labels;
  }

  return (queue, job, tenant) => {
    // Names contain no spaces. A tenant may, so it comes last.
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
