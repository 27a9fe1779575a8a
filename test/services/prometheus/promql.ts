/** What the queries of dashboards and alerts are about: metrics, and the labels that they are asked by. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';

export const monitoring = resolve(import.meta.dirname, '../../../infra/monitoring');

export const rulesFile = resolve(monitoring, 'longshore.rules.yml');

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook_url', string>>;
}

export function readRules(): readonly Rule[] {
  const { groups } = parse(readFileSync(rulesFile, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export interface Panel {
  readonly title: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

export function readDashboard() {
  return JSON.parse(readFileSync(resolve(monitoring, 'grafana-dashboard.json'), 'utf8')) as {
    readonly panels: readonly Panel[];
    readonly templating: {
      readonly list: readonly {
        readonly name: string;
        readonly query: string | { readonly query: string };
      }[];
    };
  };
}

/** As Grafana sends it. */
export const filledIn = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '5m').replaceAll('$queue', '.*');

/** Whole words of the language that are no names of metrics. */
const words =
  /^(sum|max|min|by|without|rate|increase|topk|absent|and|histogram_quantile|label_values|queue|job|status|outcome|reason|backend|schedule|le)$/;

/** Names of metrics, each with the labels that it is filtered or grouped by. */
export function askedBy(
  expr: string,
): readonly { readonly metric: string; readonly labels: readonly string[] }[] {
  const grouped = [...expr.matchAll(/\b(?:by|without) \(([^)]*)\)/g)].flatMap(([, names]) =>
    names!.split(', '),
  );
  const bare = expr.replace(/\b(?:by|without) \([^)]*\)/g, '');
  return [...bare.matchAll(/([a-z_]{2,})(?:\{([^}]*)\})?(?!\w*\()/g)]
    .filter(([, name]) => !words.test(name!))
    .map(([, metric, filter = '']) => ({
      metric: metric!,
      labels: [...grouped, ...[...filter.matchAll(/(\w+)=~?"/g)].map(([, label]) => label!)],
    }));
}
