/** Checks whether the queues, their settings and the rights of this key or identity suit the jobs. */

import type { QueueProperties } from '@azure/service-bus';
import { config } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import type {
  Check,
  DiagnosisRequest,
  Looked,
  Problem,
  QueueNeeds,
  Severity,
} from '../../../core/contract/diagnosis.ts';
import { CannotLook, check, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import type { Administration, Tier } from './administration.ts';
import type { Connection } from './connection.ts';

export interface Checked {
  /** `null` = it is an emulator, or the Manage right is missing. */
  readonly tier: Tier | null;
  /** Entities whose settings could not be read, because the Manage right is missing. */
  readonly unknown: readonly string[];
  /** Settings of the other entities that may be wrong, one sentence each. */
  readonly advice: readonly string[];
}

/** Throws `CONFIG`. */
export async function checkQueues(
  connection: Connection,
  names: readonly string[],
  needsOf?: (queue: string) => QueueNeeds,
): Promise<Checked> {
  const uses = usesOf(connection, names, needsOf);
  for (const use of uses) await lookFor(connection, use);
  const namespace = await connection.administration();
  const tier = (await namespace?.tier()) ?? null;
  const unknown: string[] = [];
  const advice: string[] = [];
  for (const use of uses) {
    const settings = await namespace?.queue(use.entity);
    if (settings) advice.push(...adviceOf(settings, use));
    else unknown.push(use.entity);
  }
  return { tier, unknown, advice };
}

/** The queues of the namespace that the given queues of the app need. */
function usesOf(
  { addressOf }: Pick<Connection, 'addressOf'>,
  names: readonly string[],
  needsOf?: (queue: string) => QueueNeeds,
): Use[] {
  return names.map(addressOf).flatMap(({ name, entity, failedEntity, sessions }): Use[] => [
    { name, entity, keeps: 'jobs', sessions, needs: needsOf?.(name) ?? null },
    { name, entity: failedEntity, keeps: 'dead letters', sessions: false, needs: null },
  ]);
}

/** Throws unless the entity exists and this key or identity may receive from it and send to it. */
function lookFor({ call }: Pick<Connection, 'call'>, { name, entity }: Use): Promise<void> {
  return call(`looking for "${entity}", which queue "${name}" needs`, async (api) => {
    await api.peek({ name: entity }, '1', 1);
    await api.openSender(entity);
  });
}

/** The advice of `longshore health`. An emulator has none. */
export async function adviceFor(
  connection: Connection,
  needsOf: (queue: string) => QueueNeeds,
): Promise<string[]> {
  const names = connection.queues.all().map(({ name }) => name);
  const { unknown, advice } = await checkQueues(connection, names, needsOf);
  if (unknown.length === 0 || (await connection.administration()) === null) return [...advice];
  const asked = `The settings of ${unknown.join(', ')} were not looked at: that takes the right to manage them (the role Azure Service Bus Data Owner).`;
  return [...advice, asked];
}

interface BusFacts {
  readonly connection: Connection;
  readonly uses: readonly Use[];
  /** Rejects for an emulator, which has no administration. */
  administration(): Promise<Administration>;
  /** Advice per queue; `null` = its settings could not be read. */
  advice(): Promise<readonly (readonly Advice[] | null)[]>;
}

export function serviceBusDiagnosis(connection: Connection, { needsOf }: DiagnosisRequest): Check[] {
  const names = connection.queues.all().map(({ name }) => name);
  const uses = usesOf(connection, names, needsOf);
  const administration = onDemand(async () => {
    const found = await connection.administration();
    if (!found) throw new CannotLook('an emulator has no administration');
    return found;
  });
  const advice = onDemand(async () => {
    const namespace = await administration();
    return Promise.all(
      uses.map(async (use) => {
        const settings = await namespace.queue(use.entity);
        return settings ? problemsOf(settings, use) : null;
      }),
    );
  });
  return checksOf(serviceBusChecks, { connection, uses, administration, advice });
}

/** Severities in `longshore doctor`. Errors lose or double jobs; warnings may. */
const severities = {
  duplicates: 'error',
  sessions: 'error',
  window: 'warning',
  lock: 'warning',
  deliveries: 'warning',
  expiry: 'warning',
  idle: 'warning',
} as const satisfies Record<string, Severity>;

const manage = 'the role Azure Service Bus Data Owner, or a key with the Manage right';

const advised = (id: string, severity: Severity): Check<BusFacts> => ({
  id,
  severity,
  async look({ advice }): Promise<Looked> {
    const known = (await advice()).filter((one) => one !== null);
    if (known.length === 0)
      return { because: `the settings of queues may not be looked at: that takes ${manage}` };
    return known.flat().filter((one) => one.id === id);
  },
});

export const serviceBusChecks: readonly Check<BusFacts>[] = [
  check('servicebus.queues', 'error', async ({ connection, uses }) => {
    const failed = await Promise.all(
      uses.map(async (use): Promise<Problem[]> => {
        const error = await lookFor(connection, use).then(() => null, toError);
        if (!error) return [];
        const remedy =
          'Create it, and grant the roles Azure Service Bus Data Receiver and Azure Service Bus Data Sender.';
        return [{ where: `queue "${use.entity}"`, text: error.message, remedy }];
      }),
    );
    return failed.flat();
  }),
  check('servicebus.tier', 'error', async ({ administration }) => {
    const tier = await (await administration()).tier(); // throws for Basic, with the remedy
    return tier === null ? { because: `the tier may not be looked at: that takes ${manage}` } : [];
  }),
  check('servicebus.rights', 'warning', async ({ advice, uses }) => {
    const known = await advice();
    const unknown = uses.filter((_, i) => known[i] === null).map(({ entity }) => entity);
    if (unknown.length === 0) return [];
    return {
      where: 'the key or identity of serviceBus()',
      text: `It may not manage ${unknown.join(', ')}: a scaler with this identity looks at about ten messages instead of the depth, so delayed ones hide those that are ready.`,
      remedy: `Grant ${manage}.`,
    };
  }),
  ...Object.entries(severities).map(([id, severity]) => advised(`servicebus.${id}`, severity)),
];

export interface Use {
  /** The app's name of the queue. */
  readonly name: string;
  readonly entity: string;
  readonly keeps: 'jobs' | 'dead letters';
  /** Whether the app expects it to require sessions. */
  readonly sessions: boolean;
  /** `null` = not known. */
  readonly needs: QueueNeeds | null;
}

const minuteMs = 60_000;
/** A message may be delivered again when its lock has ended; the id of its copy must still be known then. */
const leastWindowMs = 10 * minuteMs;
/** Locks are renewed after half of their time. */
const leastLockMs = minuteMs / 2;
/** Enough for jobs whose process dies: other retries are copies, which start at zero. */
const usualDeliveries = 10;
/** Receiving one dead letter also receives its neighbours and raises their delivery counts. */
const lettersDeliveries = 2_000;
/** Service Bus represents "never" as a time of 29,000 years. */
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

interface Advice extends Problem {
  readonly id: string;
  readonly severity: Severity;
}

/** Throws `CONFIG` for settings that lose or double jobs. Returns settings that may be wrong, one sentence each. */
export function adviceOf(settings: Settings, use: Use): string[] {
  const problems = problemsOf(settings, use);
  const refused = problems.find(({ severity }) => severity === 'error');
  if (refused) throw config(sentence(refused));
  return problems.map(sentence);
}

const sentence = ({ text, remedy }: Problem): string => `${text} ${remedy}`;

function problemsOf(settings: Settings, { name, entity, keeps, sessions, needs }: Use): Advice[] {
  const { requiresSession, maxDeliveryCount: deliveries } = settings;
  const windowMs = msOf(settings.duplicateDetectionHistoryTimeWindow);
  const lockMs = msOf(settings.lockDuration);
  const livesMs = msOf(settings.defaultMessageTimeToLive);
  const idleMs = msOf(settings.autoDeleteOnIdle);
  const queue = `queue "${entity}"`;
  const problems: Advice[] = [];
  const tell = (id: keyof typeof severities, isWrong: boolean, text: string, remedy: string) => {
    if (isWrong)
      problems.push({ id: `servicebus.${id}`, severity: severities[id], where: queue, text, remedy });
  };
  tell(
    'sessions',
    requiresSession && !sessions,
    `Queue "${entity}" requires sessions, but it is not in the option sessions.`,
    `${keeps === 'jobs' ? `Name "${name}" in sessions, or recreate` : 'Recreate'} it without --enable-session.`,
  );
  tell(
    'sessions',
    sessions && !requiresSession,
    `Expected ${queue} to require sessions, because "${name}" is named in sessions.`,
    'It can only be set when a queue is created: recreate it with --enable-session true, or leave it out of sessions.',
  );
  tell(
    'duplicates',
    !settings.requiresDuplicateDetection,
    `Expected ${queue} to detect duplicates: without it a job runs twice when a process is killed at the wrong moment.`,
    'It can only be set when a queue is created: recreate it with --enable-duplicate-detection true.',
  );
  tell(
    'window',
    windowMs < leastWindowMs,
    `Queue "${entity}" remembers ids for ${seconds(windowMs)}: a job whose process is killed may run twice when its message comes again later.`,
    'Set --duplicate-detection-history-time-window PT1H.',
  );
  tell(
    'lock',
    lockMs < leastLockMs,
    `Queue "${entity}" locks a message for ${seconds(lockMs)}: a slow renewal loses a running job.`,
    'Set --lock-duration PT1M.',
  );
  const attempts = (needs?.maxRetries ?? 0) + 1;
  const wanted = keeps === 'dead letters' ? lettersDeliveries : Math.min(usualDeliveries, attempts);
  tell(
    'deliveries',
    deliveries < wanted,
    keeps === 'jobs'
      ? `Queue "${entity}" dead-letters a message after ${deliveries} deliveries, and its jobs have ${attempts} attempts: a job whose process dies loses some of them.`
      : `Queue "${entity}" moves a dead letter to its own dead-letter queue after ${deliveries} deliveries, and each retry of another letter may count as one.`,
    `Set --max-delivery-count ${keeps === 'jobs' ? usualDeliveries : lettersDeliveries}.`,
  );
  tell(
    'expiry',
    livesMs < neverMs && !settings.deadLetteringOnMessageExpiration,
    `Queue "${entity}" silently deletes ${keeps} that are older than ${seconds(livesMs)}.`,
    'Set --enable-dead-lettering-on-message-expiration true.',
  );
  tell(
    'idle',
    idleMs < neverMs,
    `Queue "${entity}" is deleted when it is unused for ${seconds(idleMs)}, with the ${keeps} in it.`,
    'Recreate it without --auto-delete-on-idle.',
  );
  return problems;
}

const seconds = (ms: number): string => `${ms / 1_000} s`;

/** Parses `P1DT2H3M4.5S`. Any other text counts as endless. */
function msOf(text: string): number {
  const parts = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text);
  if (!parts) return Number.POSITIVE_INFINITY;
  const [, days = 0, hours = 0, minutes = 0, rest = 0] = parts;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * minuteMs + Number(rest) * 1_000;
}
