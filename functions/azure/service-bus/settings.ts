/** What the settings of a queue mean for the jobs in it. */

import type { QueueProperties } from '@azure/service-bus';
import { config } from '../../../core/base/errors.ts';
import type { Problem, QueueNeeds } from '../../../core/contract/diagnosis.ts';

export interface Use {
  /** Of the app's queue. */
  readonly name: string;
  readonly entity: string;
  readonly keeps: 'jobs' | 'dead letters';
  /** Whether the app takes it for one that requires sessions. */
  readonly sessions: boolean;
  /** `null` = not known. */
  readonly needs: QueueNeeds | null;
}

const minuteMs = 60_000;
/** A message that was delivered comes again when its lock has ended, and its copy must still be known then. */
const leastWindowMs = 10 * minuteMs;
/** Locks are renewed when half of their time is over. */
const leastLockMs = minuteMs / 2;
/** Enough for jobs whose process dies: other retries are copies, which begin anew. */
const usualDeliveries = 10;
/** A retry of one dead letter receives others in passing. */
const lettersDeliveries = 2_000;
/** Service Bus says "never" with a time of 29,000 years. */
const neverMs = 365_000 * 24 * 60 * minuteMs;

type Settings = Pick<
  QueueProperties,
  | 'requiresSession'
  | 'requiresDuplicateDetection'
  | 'duplicateDetectionHistoryTimeWindow'
  | 'lockDuration'
  | 'maxDeliveryCount'
  | 'defaultMessageTimeToLive'
  | 'deadLetteringOnMessageExpiration'
  | 'autoDeleteOnIdle'
>;

/** What `longshore doctor` calls it, and what is wrong. */
export interface Advice extends Problem {
  readonly id: `servicebus.${'window' | 'lock' | 'deliveries' | 'expiry' | 'idle' | 'sessions' | 'duplicates'}`;
}

/** Throws `CONFIG` for settings that lose or double jobs. Returns what may be wrong, a sentence each. */
export function adviceOf(settings: Settings, use: Use): string[] {
  const [refused] = refusalsOf(settings, use);
  if (refused) throw config(sentence(refused));
  return warningsOf(settings, use).map(sentence);
}

const sentence = ({ text, remedy }: Problem): string => `${text} ${remedy}`;

/** What may lose or double jobs. */
export function warningsOf(settings: Settings, { entity, keeps, needs }: Use): Advice[] {
  const { maxDeliveryCount: deliveries } = settings;
  const { deadLetteringOnMessageExpiration: isKept } = settings;
  const windowMs = msOf(settings.duplicateDetectionHistoryTimeWindow);
  const lockMs = msOf(settings.lockDuration);
  const livesMs = msOf(settings.defaultMessageTimeToLive);
  const idleMs = msOf(settings.autoDeleteOnIdle);
  const advice: Advice[] = [];
  const tell = (id: Advice['id'], isWrong: boolean, text: string, remedy: string) => {
    if (isWrong) advice.push({ id, where: `queue "${entity}"`, text: `Queue "${entity}" ${text}`, remedy });
  };
  tell(
    'servicebus.window',
    windowMs < leastWindowMs,
    `remembers ids for ${seconds(windowMs)}: a job whose process is killed may run twice when its message comes again later.`,
    'Set --duplicate-detection-history-time-window PT1H.',
  );
  tell(
    'servicebus.lock',
    lockMs < leastLockMs,
    `locks a message for ${seconds(lockMs)}: a slow renewal loses a running job.`,
    'Set --lock-duration PT1M.',
  );
  const attempts = (needs?.maxRetries ?? 0) + 1;
  const wanted = keeps === 'dead letters' ? lettersDeliveries : Math.min(usualDeliveries, attempts);
  tell(
    'servicebus.deliveries',
    deliveries < wanted,
    keeps === 'jobs'
      ? `gives a message up after ${deliveries} deliveries, and its jobs have ${attempts} attempts: one whose process dies has fewer.`
      : `gives a dead letter up after ${deliveries} deliveries, and each retry of another one may be one.`,
    `Set --max-delivery-count ${keeps === 'jobs' ? usualDeliveries : lettersDeliveries}.`,
  );
  tell(
    'servicebus.expiry',
    livesMs < neverMs && !isKept,
    `deletes ${keeps} that are older than ${seconds(livesMs)}, and nobody hears of it.`,
    'Set --enable-dead-lettering-on-message-expiration true.',
  );
  tell(
    'servicebus.idle',
    idleMs < neverMs,
    `is deleted when nobody used it for ${seconds(idleMs)}, with the ${keeps} in it.`,
    'Make it anew without --auto-delete-on-idle.',
  );
  return advice;
}

/** What does lose or double jobs. */
export function refusalsOf(
  { requiresSession, requiresDuplicateDetection }: Settings,
  { name, entity, keeps, sessions }: Use,
): Advice[] {
  const where = `queue "${entity}"`;
  const refused: Advice[] = [];
  if (requiresSession && !sessions)
    refused.push({
      id: 'servicebus.sessions',
      where,
      text: `Queue "${entity}" requires sessions, which nothing here asks for.`,
      remedy: `${keeps === 'jobs' ? `Name "${name}" in sessions, or make` : 'Make'} it anew without --enable-session.`,
    });
  if (sessions && !requiresSession)
    refused.push({
      id: 'servicebus.sessions',
      where,
      text: `Expected queue "${entity}" to require sessions, because "${name}" is named in sessions.`,
      remedy:
        'It can only be set when a queue is made: make it anew with --enable-session true, or leave it out of sessions.',
    });
  if (!requiresDuplicateDetection)
    refused.push({
      id: 'servicebus.duplicates',
      where,
      text: `Expected queue "${entity}" to detect duplicates: without it a job runs twice when a process is killed at the wrong moment.`,
      remedy: 'It can only be set when a queue is made: make it anew with --enable-duplicate-detection true.',
    });
  return refused;
}

const seconds = (ms: number): string => `${ms / 1_000} s`;

/** `P1DT2H3M4.5S`. What is written otherwise is taken for endless. */
function msOf(text: string): number {
  const parts = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text);
  if (!parts) return Number.POSITIVE_INFINITY;
  const [, days = 0, hours = 0, minutes = 0, rest = 0] = parts;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * minuteMs + Number(rest) * 1_000;
}
