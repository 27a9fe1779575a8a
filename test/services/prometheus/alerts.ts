/** For each alert of the rules: numbers at which it fires, and numbers at which it is silent. */

export type Series = Readonly<Record<string, string>>;

export interface AlertCase {
  readonly alert: string;
  /** Values by the minute, in promtool's words: `a+bxn` = begins at a, grows by b, n times. */
  readonly fires: Series;
  /** When it is asked for. */
  readonly at: string;
  /** What tells one alert from another. */
  readonly labels: Readonly<Record<string, string>>;
  /** The value, as the texts of the alert have it. */
  readonly value?: string;
  /** Each of these alone is silent, at the same moment. */
  readonly silent: Readonly<Record<string, Series>>;
}

const mail = { queue: 'mail' };
const ready = (instance: string) => `queue_depth{queue="mail",status="ready",instance="${instance}"}`;
const of = (name: string, instance = 'a') => `${name}{queue="mail",job="send",instance="${instance}"}`;
const dead = (reason: string, instance = 'a') =>
  `queue_jobs_dead_lettered_total{queue="mail",job="send",reason="${reason}",instance="${instance}"}`;
const stopped = (state: string) => `queue_job_stopped{job="send",state="${state}",instance="a"}`;
const ended = (outcome: string) => `queue_jobs_processed_total{queue="mail",job="send",outcome="${outcome}"}`;
const depth = (status: string, instance: string) =>
  `queue_depth{queue="mail",status="${status}",instance="${instance}"}`;

export const alerts: readonly AlertCase[] = [
  {
    alert: 'QueueBacklogHigh',
    fires: { [ready('a')]: '1001x10', [ready('b')]: '1001x10' },
    at: '5m',
    labels: mail,
    value: '1001',
    silent: {
      'at the threshold': { [ready('a')]: '1000x10' },
      'when two workers see the same half': { [ready('a')]: '600x10', [ready('b')]: '600x10' },
      'before five minutes': { [ready('a')]: '0 1001x10' },
      'for jobs that are delayed': { [depth('delayed', 'a')]: '5000x10' },
    },
  },
  {
    alert: 'QueueJobStuck',
    fires: { [of('queue_oldest_job_seconds')]: '3601+60x10' },
    at: '5m',
    labels: mail,
    value: '1h 5m 1s',
    silent: {
      'at an hour': { [of('queue_oldest_job_seconds')]: '3600x10' },
      'when it was taken in between': { [of('queue_oldest_job_seconds')]: '3601 3661 3721 0 60 3601' },
    },
  },
  {
    alert: 'QueueHighFailureRate',
    fires: { [of('queue_jobs_failed_total', 'a')]: '0+6x20', [of('queue_jobs_failed_total', 'b')]: '0+6x20' },
    at: '15m',
    labels: mail,
    value: '12',
    silent: {
      'at ten a minute': { [of('queue_jobs_failed_total')]: '0+10x20' },
      'when a worker begins anew': { [of('queue_jobs_failed_total')]: '500+5x8 0+5x12' },
      'in two queues of six': {
        [of('queue_jobs_failed_total')]: '0+6x20',
        'queue_jobs_failed_total{queue="pdf",job="render"}': '0+6x20',
      },
    },
  },
  {
    alert: 'QueueFailureRatioHigh',
    fires: {
      [of('queue_jobs_failed_total')]: '0+1x40',
      [ended('acked')]: '0+9x40',
      [ended('requeued')]: '0+1x40',
    },
    at: '30m',
    labels: mail,
    value: '10%',
    silent: {
      'at one in twenty': {
        [of('queue_jobs_failed_total')]: '0+1x40',
        [ended('acked')]: '0+19x40',
        [ended('requeued')]: '0+1x40',
      },
      'of few attempts': { [of('queue_jobs_failed_total')]: '0+1x40', [ended('requeued')]: '0+1x40' },
      'of none': { [of('queue_jobs_failed_total')]: '0x40', [ended('acked')]: '0x40' },
    },
  },
  {
    alert: 'QueueDeadLetterRateHigh',
    fires: { [dead('permanent')]: '0+0.1x120', [dead('exhausted', 'b')]: '0+0.1x120' },
    at: '90m',
    labels: mail,
    value: '12',
    silent: {
      'at ten an hour': { [dead('permanent')]: '0x60 10x60' },
      'of an hour ago': { [dead('permanent')]: '0 500x120' },
    },
  },
  {
    alert: 'QueueDeadLettersHigh',
    fires: { [of('queue_dead_letters', 'a')]: '101x10', [of('queue_dead_letters', 'b')]: '101x10' },
    at: '5m',
    labels: mail,
    value: '101',
    silent: {
      'at the threshold': { [of('queue_dead_letters')]: '100x10' },
      'when they are retried in time': { [of('queue_dead_letters')]: '101x3 4x7' },
    },
  },
  {
    alert: 'DeadLettersHigh',
    fires: {
      [of('queue_dead_letters', 'a')]: '600x10',
      [of('queue_dead_letters', 'b')]: '600x10',
      'queue_dead_letters{queue="pdf"}': '401x10',
    },
    at: '5m',
    labels: {},
    value: '1001',
    silent: {
      'at the threshold': {
        [of('queue_dead_letters')]: '600x10',
        'queue_dead_letters{queue="pdf"}': '400x10',
      },
      'when two workers see the same': {
        [of('queue_dead_letters', 'a')]: '600x10',
        [of('queue_dead_letters', 'b')]: '600x10',
      },
    },
  },
  {
    alert: 'QueueDepthHigh',
    fires: {
      [depth('pending', 'a')]: '9900x10',
      [depth('ready', 'a')]: '900x10',
      [depth('delayed', 'a')]: '9000x10',
      [depth('leased', 'a')]: '101x10',
    },
    at: '5m',
    labels: mail,
    value: '10001',
    silent: {
      'at the threshold': { [depth('ready', 'a')]: '900x10', [depth('delayed', 'a')]: '9100x10' },
      'when what is pending is counted twice': {
        [depth('pending', 'a')]: '6000x10',
        [depth('ready', 'a')]: '6000x10',
      },
      'when two workers see the same': {
        [depth('delayed', 'a')]: '9000x10',
        [depth('delayed', 'b')]: '9000x10',
      },
    },
  },
  {
    alert: 'QueueWithoutWorker',
    fires: { [of('queue_workers')]: '1 0x10' },
    at: '3m',
    labels: mail,
    silent: {
      'with one': { [of('queue_workers')]: '1x10' },
      'for a moment': { [of('queue_workers')]: '0 0 1 0 0' },
    },
  },
  {
    alert: 'BackendDown',
    fires: {
      'queue_up{backend="postgres",instance="a"}': '0x10',
      'queue_up{backend="postgres",instance="b"}': '0x10',
    },
    at: '2m',
    labels: { backend: 'postgres' },
    silent: {
      'when another worker reaches it': {
        'queue_up{backend="postgres",instance="a"}': '0x10',
        'queue_up{backend="postgres",instance="b"}': '1x10',
      },
      'for a moment': { 'queue_up{backend="postgres",instance="a"}': '1 1 0' },
    },
  },
  {
    alert: 'ScheduleMissed',
    fires: {
      'queue_schedule_lag_seconds{schedule="nightly",instance="a"}': '0+60x10',
      'queue_schedule_lag_seconds{schedule="nightly",instance="b"}': '600x10',
    },
    at: '6m',
    labels: { schedule: 'nightly' },
    value: '6m 0s',
    silent: {
      'at five minutes': { 'queue_schedule_lag_seconds{schedule="nightly"}': '300x10' },
      'when another host ticks': {
        'queue_schedule_lag_seconds{schedule="nightly",instance="a"}': '600x10',
        'queue_schedule_lag_seconds{schedule="nightly",instance="b"}': '0x10',
      },
    },
  },
  {
    alert: 'BreakerOpen',
    // It opens again after each try that fails.
    fires: { [stopped('open')]: '1 1 0 1 1 0 1 1 1', [stopped('trying')]: '0 0 1 0 0 1 0 0 0' },
    at: '6m',
    labels: { job: 'send' },
    silent: {
      'for a moment': { [stopped('open')]: '1x3 0x10' },
      'when a try has succeeded in between': { [stopped('open')]: '1 1 1 0 1 1 1' },
      'for a job that is paused': { [stopped('paused')]: '1x10' },
    },
  },
  {
    alert: 'QueueMetricsAbsent',
    fires: { 'queue_up{backend="redis"}': '1 _x20' },
    at: '12m',
    labels: {},
    silent: {
      'while one worker exports': { 'queue_up{backend="redis"}': '0x20' },
      'for a moment': { 'queue_up{backend="redis"}': '1x5 _x2 1x10' },
    },
  },
];
