/** The rows of `longshore alerts`: each condition as it is now, with its stored state. Read-only: changes and sends nothing. */

import type { AlertHost, AlertReading, AlertRule, Alerts } from '../../kernel/app/alerts.ts';
import { peek } from '../../kit/records/peek.ts';
import { keepMs, nowOf, readAll, stateKey, stateOf } from './evaluate.ts';
import { factsOf } from './facts.ts';
import { byFunctions, keyOf, noState, type OpenAlert } from './state.ts';

export interface AlertRow
  extends Omit<AlertReading, 'holds'>,
    Pick<AlertRule, 'severity' | 'forMs' | 'summary'> {
  readonly alert: string;
  /** `pending`: the condition holds, but not yet for `forMs`. `unknown`: it cannot be evaluated; `text` says why. */
  readonly state: 'ok' | 'pending' | 'firing' | 'unknown';
  /** Since when the condition holds, epoch ms. */
  readonly since: number | null;
}

export interface AlertStates {
  /** When they were last evaluated, epoch ms; `null` = never, or an evaluation is in progress. */
  readonly evaluatedAt: number | null;
  /** One per rule and subject. A rule without a subject here has none. */
  readonly alerts: readonly AlertRow[];
}

export async function alertStates(alerts: Alerts, client: AlertHost): Promise<AlertStates> {
  const { app, stores } = client;
  const text = await peek(stores.keys, app.clock, stateKey(alerts), app.newId(), keepMs);
  const state = text === 'busy' ? noState : stateOf(text);
  const { at, open } = state;
  const now = await nowOf(client);
  const reads = await readAll(alerts.rules, client, factsOf(client, byFunctions(state, now), now));
  const rows = reads.flatMap(({ rule, readings }) =>
    readings.map(({ holds, ...reading }) => {
      const { name: alert, severity, forMs, summary } = rule;
      const kept = open[keyOf(alert, reading.subject)];
      const state = holds === null ? 'unknown' : stateIn(holds, kept);
      return { alert, severity, forMs, summary, ...reading, state, since: kept?.since ?? null };
    }),
  );
  return { evaluatedAt: at === 0 ? null : at, alerts: rows };
}

/** An alert that ended since the last evaluation still fires: its end has not been sent yet. */
function stateIn(holds: boolean, kept: OpenAlert | undefined): AlertRow['state'] {
  if (kept && kept.firedAt !== null) return 'firing';
  return holds ? 'pending' : 'ok';
}
