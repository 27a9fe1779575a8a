/** The alerts, each at numbers where it fires and at numbers where it is silent, by promtool. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type AlertCase, alerts, type Series } from './alerts.ts';
import { promtool } from './programs.ts';
import { filledIn, monitoring, readDashboard, readRules, rulesFile } from './promql.ts';

const rules = readRules();
const folder = mkdtempSync(join(tmpdir(), 'longshore-rules-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What promtool writes; throws it when a test fails. */
async function run(...args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)(promtool(), args)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}\n${stderr}`);
  }
}

const inputs = (series: Series) => Object.entries(series).map(([name, values]) => ({ series: name, values }));

/** As Prometheus fills in the texts of an alert. */
function firing({ alert, labels, value = '' }: AlertCase) {
  const { annotations, labels: own } = rules.find((rule) => rule.alert === alert)!;
  const filled = Object.entries(annotations).map(([name, text]) => [
    name,
    text
      .replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, label) => labels[label] ?? '')
      .replace(/\{\{ \$value( \| \w+)? \}\}/g, value),
  ]);
  return { exp_labels: { ...own, ...labels }, exp_annotations: Object.fromEntries(filled) };
}

async function check(one: AlertCase, series: Series, expected: readonly object[]): Promise<string> {
  const file = join(folder, 'test.yml');
  const alert = { eval_time: one.at, alertname: one.alert, exp_alerts: expected };
  const tests = [{ interval: '1m', input_series: inputs(series), alert_rule_test: [alert] }];
  writeFileSync(file, stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }));
  return run('test', 'rules', file);
}

describe('the rules', () => {
  it('are ones that Prometheus takes, and so is the example of its config', async () => {
    expect(await run('check', 'rules', rulesFile)).toContain(`${rules.length} rules found`);
    expect(await run('check', 'config', join(monitoring, 'prometheus.yml'))).toContain('SUCCESS');
  });

  it('have a case each', () => {
    expect(alerts.map(({ alert }) => alert).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    for (const { labels } of rules) expect(['warning', 'critical']).toContain(labels.severity);
  });

  it.each(alerts)('$alert fires', async (one) => {
    expect(await check(one, one.fires, [firing(one)])).toContain('SUCCESS');
    // The same numbers would be an error if nothing were expected, so the case says something.
    await expect(check(one, one.fires, [])).rejects.toThrow(/FAILED/);
  });

  const silences = alerts.flatMap((one) =>
    Object.entries(one.silent).map(([when, series]) => ({ one, when, series, alert: one.alert })),
  );
  it.each(silences)('$alert is silent $when', async ({ one, series }) => {
    expect(await check(one, series, [])).toContain('SUCCESS');
  });
});

describe('the dashboard', () => {
  it('asks what Prometheus understands', async () => {
    const asked = readDashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => filledIn(expr)));
    const records = asked.map((expr, i) => ({ record: `asked:${i}`, expr }));
    const file = join(folder, 'asked.yml');
    writeFileSync(file, stringify({ groups: [{ name: 'asked', rules: records }] }));
    expect(await run('check', 'rules', file)).toContain(`${asked.length} rules found`);
    writeFileSync(
      file,
      stringify({ groups: [{ name: 'asked', rules: [{ record: 'x', expr: 'sum by (a' }] }] }),
    );
    await expect(run('check', 'rules', file)).rejects.toThrow(/FAILED/);
  });
});
