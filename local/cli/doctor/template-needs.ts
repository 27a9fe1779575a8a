/** Checks for needs of an app that a template may lack altogether: queues, dead letters, rights, the expiry of the table. */

import type { Check, Problem } from '../../../core/contract/diagnosis.ts';
import { check } from '../../../core/kit/diagnosis/checks-of.ts';
import type { AwsPlan } from '../../package/aws/plan.ts';
import { runs, sends } from '../../package/aws/roles.ts';
import { idOf, nameIn, type Resources, type Source } from './deployment.ts';

interface NeedFacts {
  readonly plan: AwsPlan;
  readonly resources: Resources;
  readonly sources: readonly Source[];
}

export const needChecks: readonly Check<NeedFacts>[] = [
  check('aws.queues', 'error', ({ plan, sources }) =>
    plan.queues
      .filter(({ name }) => !sources.some(({ queue }) => endsWith(nameIn(queue.QueueName), name)))
      .map(({ name }) => ({
        where: name,
        text: `No function of the template takes queue "${name}" of the app: its jobs wait until SQS deletes them.`,
        remedy:
          'Add the queue and an event source with ReportBatchItemFailures, as longshore package aws writes them.',
      })),
  ),
  check('aws.dead-letters', 'error', ({ plan, sources }) =>
    sources.flatMap(({ where, queue, deadLetters }): Problem | [] => {
      const own = plan.queues.find(({ name }) => endsWith(nameIn(queue.QueueName), name));
      if (!own || !deadLetters) return [];
      const name = nameIn(deadLetters.QueueName);
      if (name === null || endsWith(name, own.deadLetters)) return [];
      return {
        where,
        text: `Its dead letters go to "${name}", and Longshore sends its own to "…-${own.deadLetters}".`,
        remedy: 'Give the dead-letter queue that name, or name it in deadLetterUrls of sqs().',
      };
    }),
  ),
  check('aws.permissions', 'error', ({ resources, sources }) => {
    const functions = Map.groupBy(sources, ({ functionId }) => functionId);
    return [...functions].flatMap(([functionId, own]) => {
      const allowed = statementsOf(resources, functionId);
      if (allowed === null) return [];
      return own.flatMap(({ where, queueId, deadLettersId }): Problem[] => {
        const needed = [
          ...runs.map((action) => ({ action, on: queueId })),
          ...(deadLettersId === null ? [] : sends.map((action) => ({ action, on: deadLettersId }))),
        ];
        const missing = needed.filter(
          ({ action, on }) => !allowed.some((one) => allows(one, action, on, resources)),
        );
        if (missing.length === 0) return [];
        const list = missing.map(({ action, on }) => `${action} on ${on}`).join(', ');
        return [
          {
            where,
            text: `The role of ${functionId} does not allow ${list}.`,
            remedy: 'Add it to the policy of the role.',
          },
        ];
      });
    });
  }),
  check('aws.table', 'warning', ({ resources, plan }) => {
    if (!plan.hasTable) return [];
    const tables = Object.entries(resources).filter(([, { Type }]) => Type === 'AWS::DynamoDB::Table');
    return tables.flatMap(([where, { Properties }]) => {
      const { TimeToLiveSpecification: expiry } = Properties as {
        TimeToLiveSpecification?: { Enabled?: unknown; AttributeName?: unknown };
      };
      if (expiry?.Enabled === true && expiry.AttributeName === 'expiresAt') return [];
      return {
        where,
        text: 'Its time to live is not on for expiresAt: records and keys past their time stay.',
        remedy: 'Set TimeToLiveSpecification: { AttributeName: expiresAt, Enabled: true }.',
      };
    });
  }),
];

/** Compares names without what a tool puts before them. */
const endsWith = (name: string | null, end: string): boolean =>
  name === end || name?.endsWith(`-${end}`) === true;

interface Statement {
  readonly Effect?: unknown;
  readonly Action?: string | readonly string[];
  readonly Resource?: unknown;
}
interface RoleProperties {
  readonly Policies?: readonly { readonly PolicyDocument?: { readonly Statement?: readonly Statement[] } }[];
}
interface PolicyProperties {
  readonly Roles?: readonly unknown[];
  readonly PolicyDocument?: { readonly Statement?: readonly Statement[] };
}

/** The statements of the function's role; `null` = the role is not in the template, or has policies that are not. */
function statementsOf(resources: Resources, functionId: string): Statement[] | null {
  const { Role: role } = (resources[functionId]?.Properties ?? {}) as { Role?: unknown };
  const roleId = typeof role === 'string' ? role : idOf(role);
  const found = resources[roleId ?? ''];
  if (found?.Type !== 'AWS::IAM::Role') return null;
  const { Policies: inline = [] } = (found.Properties ?? {}) as RoleProperties;
  const attached = Object.values(resources).flatMap(({ Type, Properties }) => {
    const { Roles: roles = [], PolicyDocument: document } = (Properties ?? {}) as PolicyProperties;
    return Type === 'AWS::IAM::Policy' && roles.some((one) => idOf(one) === roleId) ? [document] : [];
  });
  const documents = [...inline.map(({ PolicyDocument }) => PolicyDocument), ...attached];
  return documents
    .flatMap((document) => document?.Statement ?? [])
    .filter(({ Effect }) => Effect === 'Allow');
}

function allows(
  { Action: actions = [], Resource: on = [] }: Statement,
  action: string,
  id: string,
  resources: Resources,
): boolean {
  const isAction = [actions]
    .flat()
    .some((one) => one === '*' || one.toLowerCase() === action.toLowerCase() || one === 'sqs:*');
  const { QueueName } = (resources[id]?.Properties ?? {}) as { QueueName?: unknown };
  const name = nameIn(QueueName);
  const isOn = [on]
    .flat()
    .some((one) => one === '*' || idOf(one) === id || (name !== null && nameIn(one)?.endsWith(`:${name}`)));
  return isAction && isOn;
}
