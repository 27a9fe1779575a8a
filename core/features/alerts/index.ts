/** `longshore/alerts`: alerts about jobs that wait, fail or do not run. Separate from `longshore`, so that apps without alerts do not load it. */

export type { AlertSeverity } from '../../base/events.ts';
export type {
  AlertCall,
  AlertFacts,
  AlertNotice,
  AlertReading,
  AlertRule,
  Alerts,
  AlertTarget,
} from '../../kernel/app/alerts.ts';
export type { Ping, PingKind } from '../../kernel/app/schedule.ts';
export {
  type ScheduleHistory,
  type ScheduleRun,
  type SkippedMoments,
  scheduleHistory,
} from '../schedules/history.ts';
export { type AlertsDefinition, defineAlerts } from './define.ts';
export { type HeartbeatOptions, type HeartbeatUrls, heartbeat } from './heartbeat.ts';
export type { RequestOptions } from './request.ts';
export { alert, type CustomRule, type LimitOptions, type RuleOptions } from './rules.ts';
export {
  sendTo,
  slack,
  type TargetOptions,
  type WebhookBody,
  type WebhookOptions,
  webhook,
} from './targets.ts';
