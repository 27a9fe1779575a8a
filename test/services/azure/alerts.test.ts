/** The alerts of the template, held against the app: none is missing, and none goes off for nothing. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { app, made } from './template-kit.ts';

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, '../../..', path), 'utf8');

interface Criterion {
  readonly metricNamespace: string;
  readonly metricName: string;
  readonly timeAggregation: string;
  readonly operator: string;
  readonly threshold: string;
  readonly dimensions?: readonly {
    readonly name: string;
    readonly operator: string;
    readonly values: string[];
  }[];
}
interface AlertProperties {
  readonly severity: number;
  readonly enabled: boolean;
  readonly scopes: readonly string[];
  readonly evaluationFrequency: string;
  readonly windowSize: string;
  readonly actions: string;
  readonly criteria: { readonly allOf: readonly Criterion[] };
}

const resources = made.resources as unknown as readonly {
  readonly type: string;
  readonly name: string;
  readonly location?: string;
  readonly properties: AlertProperties;
}[];
const alerts = resources.filter(({ type }) => type === 'Microsoft.Insights/metricAlerts');
const byName = new Map(
  alerts.map((alert) => [/'-([\w-]+)'/.exec(alert.name)![1]!, alert.properties.criteria.allOf[0]!]),
);
const failedOnes = app.queues.map((queue) => `${queue}-failed`);

/**
 * What Azure Monitor has, with how it can be aggregated and split, by
 * https://learn.microsoft.com/azure/azure-monitor/reference/metrics-index.
 */
const platform: Readonly<Record<string, { by: readonly string[]; dimensions: readonly string[] }>> = {
  'Microsoft.ServiceBus/namespaces ActiveMessages': {
    by: ['Average', 'Minimum', 'Maximum'],
    dimensions: ['EntityName'],
  },
  'Microsoft.ServiceBus/namespaces DeadletteredMessages': {
    by: ['Average', 'Minimum', 'Maximum'],
    dimensions: ['EntityName'],
  },
  'Microsoft.ServiceBus/namespaces ServerErrors': {
    by: ['Total'],
    dimensions: ['EntityName', 'OperationResult'],
  },
  'Microsoft.ServiceBus/namespaces ThrottledRequests': {
    by: ['Total'],
    dimensions: ['EntityName', 'OperationResult', 'MessagingErrorSubCode'],
  },
  'Microsoft.Insights/components requests/failed': {
    by: ['Count'],
    dimensions: ['request/resultCode', 'request/performanceBucket', 'operation/synthetic', 'cloud/roleName'],
  },
};

/** By the parameter that sets it. */
const thresholdOf = ({ threshold }: Criterion): number => {
  const [, name] = /^\[parameters\('(\w+)'\)\]$/.exec(threshold)!;
  return (made.parameters as unknown as Record<string, { defaultValue: number }>)[name!]!.defaultValue;
};

describe('the alerts', () => {
  it('are about metrics that the platform has, aggregated and split as it can', () => {
    for (const { metricNamespace, metricName, timeAggregation, dimensions = [] } of byName.values()) {
      const known = platform[`${metricNamespace} ${metricName}`];
      expect(known, metricName).toBeDefined();
      expect(known!.by).toContain(timeAggregation);
      for (const { name, operator, values } of dimensions) {
        expect(known!.dimensions).toContain(name);
        expect(operator).toBe('Include');
        expect(values.length).toBeGreaterThan(0);
      }
    }
  });

  it('go off at the first dead letter of any queue, of ours and of Service Bus itself', () => {
    const [ours, native] = [byName.get('dead-letters')!, byName.get('native-dead-letters')!];
    expect(ours.metricName).toBe('ActiveMessages');
    expect(ours.dimensions![0]!.values).toEqual(failedOnes);
    expect(native.metricName).toBe('DeadletteredMessages');
    expect(native.dimensions![0]!.values.toSorted()).toEqual([...app.queues, ...failedOnes].toSorted());
    expect([thresholdOf(ours), thresholdOf(native)]).toEqual([0, 0]);
  });

  it('go off at a backlog of any queue, and count no dead letter into it', () => {
    const backlog = byName.get('backlog')!;
    expect(backlog.dimensions![0]!.values).toEqual(app.queues);
    expect([backlog.timeAggregation, thresholdOf(backlog)]).toEqual(['Average', 1000]);
  });

  it('go off when Service Bus fails or throttles, but not for one request that the SDK repeats', () => {
    for (const name of ['server-errors', 'throttled']) {
      expect(byName.get(name)).toMatchObject({ timeAggregation: 'Total', operator: 'GreaterThan' });
      expect(thresholdOf(byName.get(name)!)).toBeGreaterThan(0);
    }
  });

  it("go off when a function fails, but not for a caller's fault", () => {
    const failures = byName.get('failures')!;
    const [codes] = failures.dimensions!;
    expect(codes!.values).toContain('0'); // of a queue or a timer
    expect(codes!.values.filter((code) => code.startsWith('4'))).toEqual([]);
    expect(thresholdOf(failures)).toBe(0);
  });

  it('watch five minutes every minute, belong to what they watch, and are global as Azure wants it', () => {
    expect(alerts.length).toBe(6);
    for (const { location, properties } of alerts) {
      expect(location).toBe('global');
      const { evaluationFrequency, windowSize, enabled, scopes, criteria } = properties;
      expect([evaluationFrequency, windowSize, enabled]).toEqual(['PT1M', 'PT5M', true]);
      expect(criteria.allOf).toHaveLength(1); // several would have to be true at once
      const [, type] = /resourceId\('([\w./]+)'/.exec(scopes[0]!)!;
      expect(type).toBe(criteria.allOf[0]!.metricNamespace);
    }
  });

  it('go off when nobody calls the function of the schedules any more, which no sampling hides', () => {
    const [rule] = resources.filter(({ type }) => type === 'Microsoft.Insights/scheduledQueryRules');
    const [condition] = rule!.properties.criteria.allOf;
    expect(condition).toMatchObject({ timeAggregation: 'Count', operator: 'LessThan', threshold: 1 });
    const [, name] = /^requests \| where name == '([\w-]+)'$/.exec(
      (condition as unknown as { query: string }).query,
    )!;
    expect(read('functions/azure/index.ts')).toContain(`functions.timer('${name}', {`);
    const { samplingSettings } = JSON.parse(read('host.json')).logging.applicationInsights;
    expect(samplingSettings.excludedTypes.split(';')).toContain('Request');
    expect(read('docs/azure.md')).toContain('| `<name>-tick-missing` |');
  });

  it('notify an action group where there is one, and need none', () => {
    expect(made.parameters.actionGroupId).toMatchObject({ type: 'string', defaultValue: '' });
    for (const { properties } of alerts) {
      expect(properties.actions).toMatch(
        /^\[if\(empty\(parameters\('actionGroupId'\)\), createArray\(\), createArray\(/,
      );
    }
  });

  it('are explained one by one in the docs, with their parameters', () => {
    const rows = [
      ...read('docs/azure.md').matchAll(/^\| `<name>-([\w-]+)` \| .* \| `(\w+)` \((\d+)\) \| /gm),
    ];
    const expected = [...byName].map(([name, one]) => [
      name,
      /'(\w+)'/.exec(one.threshold)![1],
      String(thresholdOf(one)),
    ]);
    expect(rows.map(([, ...cells]) => cells)).toEqual(expected);
  });
});
