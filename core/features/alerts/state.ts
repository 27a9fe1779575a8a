/** The state between two evaluations: since when each condition holds, and which notices have not been sent. */

import { cut } from '../../base/failure.ts';
import type { AlertNotice, AlertReading, AlertRule } from '../../kernel/app/alerts.ts';
import { unknown } from './rules.ts';

/** A condition that holds. */
export interface OpenAlert {
  readonly since: number;
  /** When it began to fire; `null` = it has not held for long enough. */
  readonly firedAt: number | null;
  /** When it was last sent. */
  readonly noticedAt: number | null;
  /** When its rule was last evaluated. */
  readonly seenAt: number;
}

export interface QueuedNotice extends AlertNotice {
  /** Names of the targets that have not accepted it. */
  readonly to: readonly string[];
}

export interface TargetState {
  /** Consecutive failures. */
  readonly failures: number;
  readonly nextAt: number;
}

export interface AlertState {
  /** When the last evaluation began; 0 = there was none. */
  readonly at: number;
  /** When a function last evaluated; 0 = never. */
  readonly functionAt: number;
  /** By rule and subject. */
  readonly open: Readonly<Record<string, OpenAlert>>;
  readonly notices: readonly QueuedNotice[];
  /** Failed targets, by name. */
  readonly targets: Readonly<Record<string, TargetState>>;
  /** When alerts of rules that need no store last ended, for hosts that evaluated without the store. */
  readonly ended: Readonly<Record<string, number>>;
}

export const noState: AlertState = { at: 0, functionAt: 0, open: {}, notices: [], targets: {}, ended: {} };

/** Whether functions run the jobs, so that a queue without a worker is normal. */
export const byFunctions = ({ functionAt }: AlertState, now: number): boolean => now - functionAt < dayMs;

export interface Read {
  readonly rule: AlertRule;
  readonly readings: readonly AlertReading[];
}

const dayMs = 86_400_000;

/** A store keeps the state as one text, which must fit into the smallest limit of all stores. */
const mostOpen = 100;
const mostNotices = 40;
const longestText = 200;
/** How long a removed rule and an undeliverable notice are kept. */
const forgetMs = dayMs;
/** After a longer pause a condition that held before may have ended in between. */
const longestPauseMs = 300_000;

export const keyOf = (rule: string, subject: string): string => `${rule} ${subject}`;
const ruleOf = (key: string): string => key.slice(0, key.indexOf(' '));

/** The state after these readings, and the notices of alerts that began or ended. */
export function nextState(
  before: AlertState,
  reads: readonly Read[],
  now: number,
  remindMs: number | null,
): { readonly state: AlertState; readonly notices: AlertNotice[] } {
  const open: Record<string, OpenAlert> = {};
  const ended: Record<string, number> = { ...before.ended };
  const notices: AlertNotice[] = [];
  const byName = new Map(reads.map((read) => [read.rule.name, read]));
  for (const [key, one] of Object.entries(before.open)) {
    // The clock of the host that wrote it may be ahead.
    const old = { ...one, since: Math.min(one.since, now) };
    const read = byName.get(ruleOf(key));
    if (!read) {
      if (now - old.seenAt < forgetMs) open[key] = old; // a rule of another version of the app
      continue;
    }
    const { rule, readings } = read;
    const subject = key.slice(rule.name.length + 1);
    const reading = readings.find((one) => one.subject === subject) ?? gone(readings, subject);
    if (reading.holds !== false) open[key] = { ...old, seenAt: now };
    else if (old.firedAt !== null) {
      notices.push(noticeOf(rule, reading, old.since, now, 'resolved'));
      if (rule.needsNoStore) ended[key] = now;
    }
  }
  const paused = now - before.at > longestPauseMs;
  for (const { rule, readings } of reads) {
    for (const reading of readings) {
      if (reading.holds !== true) continue;
      const key = keyOf(rule.name, reading.subject);
      const old = open[key];
      if (!old && Object.keys(open).length >= mostOpen) continue;
      const firedAt = old?.firedAt ?? null;
      const since = old && !(paused && firedAt === null) ? old.since : now;
      const fires = firedAt === null && now - since >= rule.forMs;
      const reminds = firedAt !== null && remindMs !== null && now - (old?.noticedAt ?? firedAt) >= remindMs;
      if (fires || reminds)
        notices.push({ ...noticeOf(rule, reading, since, now, 'firing'), reminder: reminds });
      const noticedAt = fires || reminds ? now : (old?.noticedAt ?? null);
      open[key] = { since, firedAt: fires ? now : firedAt, noticedAt, seenAt: now };
    }
  }
  return { state: { ...before, at: now, open, ended }, notices };
}

/** The reading for a queue or schedule that no longer exists. If the rule could not be read, the subject is unknown, too. */
function gone(readings: readonly AlertReading[], subject: string): AlertReading {
  const blind = readings.find(({ holds }) => holds === null);
  if (blind) return unknown(subject, blind.text);
  return { subject, holds: false, value: null, text: `"${subject}" no longer exists` };
}

function noticeOf(
  { name: alert, severity }: AlertRule,
  { subject, value, text }: AlertReading,
  since: number,
  at: number,
  state: AlertNotice['state'],
): AlertNotice {
  return { alert, severity, state, subject, value, text: cut(text, longestText), since, at, reminder: false };
}

/** Drops the oldest notices if there are too many, and those not delivered within a day. */
export const queued = (notices: readonly QueuedNotice[], now: number): QueuedNotice[] =>
  notices.filter(({ at, to }) => to.length > 0 && now - at < forgetMs).slice(-mostNotices);
