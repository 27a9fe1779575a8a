/** The alerts of an app, checked when they are defined. The code that evaluates them is loaded with the first evaluation. */

import { checkInteger, checkOptions, isName, namePattern, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';
import { door } from '../../base/lazy.ts';
import type { AlertHost, AlertRule, Alerts, AlertTarget } from '../../kernel/app/alerts.ts';
import { standardRules } from './rules.ts';

const code = door(() => import('./evaluate.ts'));

const kinds = { to: '', rules: '', remindMs: '', name: '' } satisfies OptionKinds<AlertsDefinition>;

export interface AlertsDefinition {
  /** The targets that receive notices when an alert fires or resolves. Without any, alerts are events only. */
  readonly to: AlertTarget | readonly AlertTarget[];
  /** @default `alert.standard()` */
  readonly rules?: readonly AlertRule[];
  /** How long after its last notice a firing alert is sent again, ms. At least 60_000. @default never */
  readonly remindMs?: number;
  /** Two apps that share a store need two names. @default 'default' */
  readonly name?: string;
}

/** Throws `CONFIG` for an invalid or duplicate name. */
export function defineAlerts(definition: AlertsDefinition): Alerts {
  checkOptions('defineAlerts()', definition ?? ({} as AlertsDefinition), kinds);
  const { rules = standardRules(), remindMs = null, name = 'default' } = definition ?? {};
  const to = [definition?.to ?? []].flat();
  if (!isName(name))
    throw config(`The name of defineAlerts() must match ${namePattern}, got ${shown(name)}.`);
  if (!Array.isArray(rules))
    throw config(`defineAlerts() expects rules to be a list like [alert.backlog()], got ${shown(rules)}.`);
  if (remindMs !== null) checkInteger('remindMs of defineAlerts()', remindMs, 60_000);
  checkNames('rule', 'alert.backlog()', 'read', rules);
  checkNames('target', 'slack(url)', 'send', to);
  return {
    name,
    rules,
    to,
    remindMs,
    async evaluate(client: AlertHost, where) {
      await code((it) => it.evaluateAlerts(this, client, where));
    },
    async states(client: AlertHost) {
      return code((it) => it.alertStates(this, client));
    },
  };
}

function checkNames(
  what: 'rule' | 'target',
  example: string,
  verb: string,
  all: readonly (AlertRule | AlertTarget)[],
): void {
  const names = new Set<string>();
  for (const one of all) {
    if (typeof (one as unknown as Record<string, unknown> | null)?.[verb] !== 'function')
      throw config(
        // Do not show a text: it may be the URL of a webhook, which is a secret.
        `defineAlerts() expects each ${what} to be one like ${example}, got ${typeof one === 'string' ? 'a text' : shown(one)}.`,
      );
    if (!isName(one.name))
      throw config(`The name of an alert's ${what} must match ${namePattern}, got ${shown(one.name)}.`);
    if (names.has(one.name))
      throw config(`Two ${what}s of defineAlerts() are called "${one.name}". Give one another name.`);
    names.add(one.name);
  }
}
