/** The alerts, the dashboard and the page about them, held against what is really exported. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { newTally, packTally } from '../../../core/features/metrics/tally.ts';
import { defineSchedule, PermanentError, tick } from '../../../core/index.ts';
import { stepOf } from '../../../core/kit/records/metric-steps.ts';
import { metrics } from '../../../local/prometheus/index.ts';
import { askedBy, filledIn, readDashboard, readRules } from '../../services/prometheus/promql.ts';
import { bench, job } from '../core/kit.ts';
import { meteredBench } from './kit.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../../docs/metrics.md'), 'utf8');
const rules = readRules();
const dashboard = readDashboard();
/** Labels of each metric that has a sample, by its name in the text. */
const exported = new Map<string, Set<string>>();
/** Names as they are declared: those of histograms without `_bucket` and its like. */
const declared = new Map<string, string>();

beforeAll(async () => {
  const work = job({
    handle: () => {
      throw new PermanentError('no');
    },
  });
  const limited = job({ name: 'limited', concurrency: { limit: 1 } });
  const schedules = [defineSchedule({ name: 'hourly', everyMs: 3_600_000, job: work, payload: {} })];
  let isLost = false;
  const b = meteredBench({
    jobs: [work, limited],
    schedules,
    settler: (backend) => ({
      ...backend,
      abandon: async (...args) => (isLost ? false : backend.abandon(...args)),
    }),
  });
  await tick(b.app, b.client);
  await b.once(work);
  isLost = true;
  await b.once(work);
  await b.client.stores.limits!.hold('pause:limited', Infinity);
  const text = `${await b.metered.text()}\n${await withNumbers()}`;
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\w+) (\w+)$/.exec(line);
    if (type) declared.set(type[1]!, type[2]!);
    const sample = /^(\w+)(?:\{(.*)\})? /.exec(line);
    if (!sample || line.startsWith('#')) continue;
    const labels = exported.get(sample[1]!) ?? new Set();
    exported.set(sample[1]!, labels);
    for (const [, label] of (sample[2] ?? '').matchAll(/(\w+)="/g)) labels.add(label!);
  }
});

/** What is exported where the store keeps numbers. */
async function withNumbers(): Promise<string> {
  const { client, clock } = bench({ jobs: [job()] });
  await client.stores.metrics!.write([
    {
      ...{ step: 'minute', at: stepOf('minute', clock.now()), queue: 'default', job: 'work', source: 'w' },
      body: packTally({ ...newTally(), done: 1, memory: { count: 1, sum: 1, max: 1 } }),
    },
  ]);
  return metrics(client).text();
}

const check = (expr: string) => {
  const asked = askedBy(expr);
  expect(asked, expr).not.toEqual([]);
  for (const { metric, labels } of asked) {
    expect([...exported.keys()], `${metric} in ${expr}`).toContain(metric);
    for (const label of labels) expect([...exported.get(metric)!], `${label} of ${metric}`).toContain(label);
  }
};

describe('what is asked of Prometheus', () => {
  it('is understood by this test', () => {
    const expr =
      'histogram_quantile(0.5, sum by (le, queue) (rate(a_bucket{job=~"x",queue="y"}[5m]))) > 0 and max(b_c)';
    expect(askedBy(expr)).toEqual([
      { metric: 'a_bucket', labels: ['le', 'queue', 'job', 'queue'] },
      { metric: 'b_c', labels: ['le', 'queue'] },
    ]);
  });

  it.each(rules)('by $alert is exported, with its labels', ({ expr }) => check(expr));

  it.each(dashboard.panels)('by the panel "$title" is exported, with its labels', ({ targets }) => {
    for (const { expr, legendFormat } of targets) {
      check(filledIn(expr));
      const labels = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
      for (const label of labels) expect(expr, legendFormat).toMatch(new RegExp(`by \\([^)]*\\b${label}\\b`));
    }
  });

  it('by the dashboard is all that there is', () => {
    const used = new Set(
      dashboard.panels.flatMap(({ targets }) =>
        targets.flatMap(({ expr }) => askedBy(filledIn(expr)).map(({ metric }) => metric)),
      ),
    );
    const shown = [...declared.keys()].filter((name) =>
      [...used].some((one) => one.replace(/_(bucket|sum|count)$/, '') === name),
    );
    expect(shown.toSorted()).toEqual([...declared.keys()].toSorted());
  });

  it('by panels that do not lie over one another', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...dashboard.panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
  });

  it('by the list of queues is exported', () => {
    const [{ query } = { query: '' }] = dashboard.templating.list.filter(({ name }) => name === 'queue');
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec((query as { query: string }).query)!;
    expect([...exported.get(metric!)!]).toContain(label);
  });
});

describe('docs/metrics.md', () => {
  it('lists each metric with its kind and its labels, and no other', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*)\|/gm)];
    const listed = rows.map(([, name, kind, labels]) => [
      name,
      kind,
      [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label).toSorted(),
    ]);
    const found = [...declared].map(([name, kind]) => {
      const labels = exported.get(kind === 'histogram' ? `${name}_sum` : name) ?? new Set();
      return [name, kind, [...labels].toSorted()];
    });
    expect(listed.toSorted()).toEqual(found.toSorted());
  });

  it('has a heading for each alert, where the alert leads to', () => {
    const root = resolve(import.meta.dirname, '../../..');
    for (const { alert, annotations } of rules) {
      const [path, anchor] = annotations.runbook_url.split('#');
      expect(readFileSync(join(root, path!), 'utf8')).toContain(`### ${alert}\n`);
      expect(anchor).toBe(alert.toLowerCase());
    }
  });
});
