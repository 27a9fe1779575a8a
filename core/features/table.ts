/** The table of all features. Only this file names them; the kernel names none. */

import { type App, type AppOptions, appOf } from '../kernel/app/app.ts';
import { alerts } from './alerts/feature.ts';
import { batches } from './batches/feature.ts';
import { chains } from './chains/feature.ts';
import { type Feature, installedFrom } from './feature.ts';
import { idempotency } from './idempotency/feature.ts';
import { limits } from './limits/feature.ts';
import { logs } from './logs/feature.ts';
import { metrics } from './metrics/feature.ts';
import { payloads } from './payloads/feature.ts';
import { pings } from './pings/feature.ts';
import { records } from './records/feature.ts';
import { sandbox } from './sandbox/feature.ts';
import { schedules } from './schedules/feature.ts';
import { steps } from './steps/feature.ts';
import { transactions } from './transactions/feature.ts';
import { unique } from './unique/feature.ts';

export const features = {
  ...{ transactions, limits, unique, payloads, chains, idempotency, records },
  ...{ alerts, pings, steps, batches, logs, schedules, metrics, sandbox },
} satisfies Readonly<Record<string, Feature>>;

export type FeatureName = keyof typeof features;

export const installed = installedFrom(Object.values(features));

export const createApp = (options: AppOptions): App => appOf(options, installed);
