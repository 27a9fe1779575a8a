/** What is refused when alerts are defined, and that they are those of the Prometheus rules. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { alert, defineAlerts } from '../../../core/features/alerts/index.ts';
import type { AlertRule } from '../../../core/kernel/app/alerts.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import { bench, refusalText } from '../core/kit.ts';
import { minuteMs, work } from './kit.ts';

describe('a definition', () => {
  const to: [] = [];
  it.each<[string, () => unknown, string]>([
    [
      'two rules of one name',
      () => defineAlerts({ to, rules: [alert.backlog(), alert.backlog()] }),
      'Two rules',
    ],
    ['a wrong name', () => alert.backlog({ name: 'a b' }), "An alert's name must match"],
    ['a wrong limit', () => alert.backlog({ above: Number.NaN }), 'above to be a number of 0 or more'],
    ['a wrong time', () => alert.backlog({ forMs: 1.5 }), 'forMs of alert "QueueBacklogHigh"'],
    ['a wrong queue', () => alert.backlog({ queue: '' }), 'expects queue to match'],
    [
      'a wrong severity',
      () => alert.stuck({ severity: 'bad' as 'critical' }),
      "'warning' or 'critical', got \"bad\"",
    ],
    [
      'no rule',
      () => defineAlerts({ to, rules: [{} as AlertRule] }),
      'each rule to be one like alert.backlog()',
    ],
    [
      'a URL as target',
      () => defineAlerts({ to: 'https://x' as never }),
      'each target to be one like slack(url), got a text.',
    ],
    [
      'a URL as ping',
      () => defineSchedule({ name: 's', everyMs: 1_000, job: work, payload: {}, ping: 'https://x' as never }),
      'ping of schedule "s" to be a function, got a string.',
    ],
    [
      'a rule without a list',
      () => defineAlerts({ to, rules: alert.backlog() as never }),
      'rules to be a list like [alert.backlog()]',
    ],
    [
      'a typing error',
      () => defineAlerts({ to, remindsMs: 60_000 } as never),
      'remindMs, name. Did you mean "remindMs"?',
    ],
    [
      'a typing error in a rule',
      () => alert.backlog({ abov: 5 } as never),
      'Unknown option "abov" of alert QueueBacklogHigh, only name, severity, forMs, above, queue. Did you mean "above"?',
    ],
    ['reminders every second', () => defineAlerts({ to, remindMs: 1_000 }), 'remindMs of defineAlerts()'],
    ['something else in the app', () => bench({ alerts: {} as never }), 'come from defineAlerts()'],
  ])('%s is refused', async (_, define, message) => {
    const text = await refusalText(define);
    expect(text).toMatch(/^CONFIG: /);
    expect(text).toContain(message);
  });

  it('without rules has all of them, by the names that the dashboards use', () => {
    expect(defineAlerts({ to }).rules.map(({ name, severity, forMs }) => [name, severity, forMs])).toEqual([
      ['QueueBacklogHigh', 'warning', 300_000],
      ['QueueJobStuck', 'critical', 300_000],
      ['QueueHighFailureRate', 'critical', 300_000],
      ['QueueDeadLetterRateHigh', 'warning', 0],
      ['QueueDepthHigh', 'warning', 300_000],
      ['QueueFailureRatioHigh', 'warning', 300_000],
      ['QueueDeadLettersHigh', 'warning', 300_000],
      ['DeadLettersHigh', 'critical', 300_000],
      ['QueueWithoutWorker', 'critical', 120_000],
      ['BackendDown', 'critical', 120_000],
      ['ScheduleMissed', 'critical', 300_000],
      ['BreakerOpen', 'critical', 300_000],
    ]);
  });

  it('fires when the rules for Prometheus do, which have one more for metrics that nobody exports', () => {
    const file = join(import.meta.dirname, '../../../infra/monitoring/longshore.rules.yml');
    const { groups } = parse(readFileSync(file, 'utf8')) as {
      groups: [{ rules: { alert: string; for?: string; labels: { severity: string } }[] }];
    };
    const theirs = groups[0].rules.map((rule) => [
      rule.alert,
      rule.labels.severity,
      Number.parseInt(rule.for ?? '0', 10) * minuteMs,
    ]);
    const own = defineAlerts({ to }).rules.map(({ name, severity, forMs }) => [
      name,
      severity,
      // Lateness is compared there, and held for a time here: a schedule that was never ticked has none.
      name === 'ScheduleMissed' ? 0 : forMs,
    ]);
    const absent = ['QueueMetricsAbsent', 'critical', 300_000];
    expect(theirs.toSorted()).toEqual([...own, absent].toSorted());
  });
});
