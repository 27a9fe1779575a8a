/** The settings of host.json that concern jobs. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { config } from '../../../core/base/errors.ts';

export interface HostSettings {
  /** `null` = there is no host.json, and these are the host's defaults. */
  readonly path: string | null;
  readonly functionTimeoutMs: number;
  /** Per queue. */
  readonly maxConcurrentCalls: number;
  /** Concurrent groups of a queue with sessions. */
  readonly maxConcurrentSessions: number;
  /** How long an empty session is kept. */
  readonly sessionIdleMs: number;
  /** How long a lock is renewed. */
  readonly maxLockRenewalMs: number;
  /** Whether the host completes a message when its function returns. */
  readonly completes: boolean;
  /** Number of messages that are locked in advance. */
  readonly prefetchCount: number;
  readonly routePrefix: string;
}

type Section = Readonly<Record<string, unknown>>;
interface HostJson {
  readonly functionTimeout?: unknown;
  readonly extensions?: { readonly serviceBus?: Section; readonly http?: Section };
}

/** Reads the host.json in the folder of the app's main file, or in a folder above it. Throws `CONFIG` for a wrong value. */
export function hostSettings(folder: string): HostSettings {
  const path = hostJsonAbove(folder);
  const { functionTimeout, extensions: { serviceBus = {}, http = {} } = {} } = path ? read(path) : {};
  const count = (name: string, fallback: number): number => {
    const { [name]: value = fallback } = serviceBus;
    if (Number.isInteger(value) && (value as number) >= 1) return value as number;
    throw wrong(path, name, 'a whole number of 1 or more');
  };
  const span = (name: string, fallbackMs: number): number =>
    timeSpan(path, name, serviceBus[name], fallbackMs);
  return {
    path,
    functionTimeoutMs: timeSpan(path, 'functionTimeout', functionTimeout, 1_800_000),
    maxConcurrentCalls: count('maxConcurrentCalls', 16),
    maxConcurrentSessions: count('maxConcurrentSessions', 8),
    sessionIdleMs: span('sessionIdleTimeout', 60_000),
    maxLockRenewalMs: span('maxAutoLockRenewalDuration', 300_000),
    completes: serviceBus.autoCompleteMessages !== false,
    prefetchCount: Number(serviceBus.prefetchCount ?? 0) || 0,
    routePrefix: String(http.routePrefix ?? 'api'),
  };
}

function hostJsonAbove(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, 'host.json');
    if (existsSync(path)) return path;
    if (at === dirname(at)) return null;
  }
}

function read(path: string): HostJson {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as HostJson;
  } catch (cause) {
    throw config(`Expected ${path} to be JSON, got: ${(cause as Error).message}. Correct it.`);
  }
}

/** Parses `00:30:00`, `1.00:00:00`, or -1 for no limit. */
function timeSpan(path: string | null, name: string, text: unknown, fallbackMs: number): number {
  if (text === undefined) return fallbackMs;
  if (text === '-1') return 2_147_483_647;
  const [, days = 0, hours, minutes, seconds] =
    /^(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})$/.exec(String(text))?.map(Number) ?? [];
  const ms = (((Number(days) || 0) * 24 + hours!) * 60 + minutes!) * 60_000 + seconds! * 1_000;
  if (ms > 0) return ms;
  throw wrong(path, name, 'a time like 00:30:00');
}

const wrong = (path: string | null, name: string, expected: string) =>
  config(`Expected ${name} of ${path} to be ${expected}. Correct it.`);
