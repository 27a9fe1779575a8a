/** Checks an ARM template against the needs of an app on Service Bus and Functions. */

import { readFileSync } from 'node:fs';
import { config } from '../../../core/base/errors.ts';
import type { Check, Problem } from '../../../core/contract/diagnosis.ts';
import { check } from '../../../core/kit/diagnosis/checks-of.ts';
import type { AzurePlan } from '../../package/azure/plan.ts';
import { roles } from '../../package/azure/template.ts';

interface ArmResource {
  readonly type: string;
  readonly name: string;
  readonly sku?: { readonly name?: unknown };
  readonly identity?: object;
  // biome-ignore lint/suspicious/noExplicitAny: each type has other properties
  readonly properties?: any;
}

interface ArmFacts {
  readonly plan: Pick<AzurePlan, 'queues' | 'sessions'>;
  readonly resources: readonly ArmResource[];
}

/** The resources of a template, with those of deployments in it. Throws `CONFIG` for another file. */
export function armResources(path: string): readonly ArmResource[] {
  let resources: unknown;
  try {
    ({ resources } = JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    throw config(
      `Expected ${path} to be an ARM template in JSON, got: ${(cause as Error).message}. Bicep becomes one by az bicep build.`,
    );
  }
  if (typeof resources !== 'object' || resources === null)
    throw config(`Expected ${path} to be an ARM template, got one without resources.`);
  // With symbolic names, as Bicep writes them, it is an object.
  const all = Object.values(resources) as ArmResource[];
  return all.flatMap((one) => [
    one,
    ...(Object.values(one.properties?.template?.resources ?? {}) as ArmResource[]),
  ]);
}

const queueType = 'Microsoft.ServiceBus/namespaces/queues';
/** A crash of the host spends one; and the copies of a job that retries begin anew. */
const fewestDeliveries = 5;
/** A retry of one dead letter receives others in passing. */
const fewestOfFailed = 100;

/** `[concat(parameters('name'), '/mail')]`, `[format('{0}/{1}', …, 'mail')]` or `shop/mail`. */
const lastName = (name: string): string => /([\w.-]+)'?\)?\]?$/.exec(name)?.[1] ?? name;

const queuesIn = ({ resources }: ArmFacts): ArmResource[] =>
  resources.filter(({ type }) => type === queueType);

/** A problem for each queue of the app that is in the template, where there is one. */
const eachQueue = (
  facts: ArmFacts,
  look: (
    queue: string,
    properties: ArmResource['properties'],
    isFailed: boolean,
  ) => Omit<Problem, 'where'> | null,
): Problem[] =>
  facts.plan.queues
    .flatMap((queue) => [queue, `${queue}-failed`])
    .flatMap((name) => {
      const found = queuesIn(facts).find((one) => lastName(one.name) === name);
      const problem = found && look(name, found.properties ?? {}, !facts.plan.queues.includes(name));
      return problem ? [{ where: name, ...problem }] : [];
    });

export const armChecks: readonly Check<ArmFacts>[] = [
  check('azure.queues', 'error', (facts) => {
    const there = queuesIn(facts).map(({ name }) => lastName(name));
    return facts.plan.queues
      .flatMap((queue) => [queue, `${queue}-failed`])
      .filter((name) => !there.includes(name))
      .map((where) => ({
        where,
        text: 'The template does not make this queue, and the app needs it: each queue has a -failed queue for its dead letters.',
        remedy: 'Add it, as longshore package azure writes it.',
      }));
  }),
  check('azure.duplicates', 'error', (facts) =>
    eachQueue(facts, (_, { requiresDuplicateDetection }) =>
      requiresDuplicateDetection === true
        ? null
        : {
            text: 'It detects no duplicates: a host that is killed while it settles leaves two messages.',
            remedy: 'Set requiresDuplicateDetection to true. A queue has to be made anew for it.',
          },
    ),
  ),
  check('azure.sessions', 'error', (facts) =>
    eachQueue(facts, (name, { requiresSession = false }) => {
      const wanted = facts.plan.sessions.includes(name);
      if (requiresSession === wanted) return null;
      return {
        text: wanted
          ? 'It has no sessions, and the app orders its groups.'
          : 'It requires sessions, and the app does not name it in sessions.',
        remedy: `Set requiresSession to ${wanted}. A queue has to be made anew for it.`,
      };
    }),
  ),
  check('azure.deliveries', 'warning', (facts) =>
    eachQueue(facts, (_, { maxDeliveryCount: most = 10 }, isFailed) => {
      const least = isFailed ? fewestOfFailed : fewestDeliveries;
      if (Number(most) >= least) return null;
      return {
        text: `maxDeliveryCount is ${most}: ${isFailed ? 'retries of dead letters use it up' : 'Service Bus moves jobs to $DeadLetterQueue after a few crashes of the host'}.`,
        remedy: `Set it to ${isFailed ? 2000 : 10}.`,
      };
    }),
  ),
  check('azure.tier', 'error', ({ resources }) =>
    resources
      .filter(({ type, sku }) => type === 'Microsoft.ServiceBus/namespaces' && sku?.name === 'Basic')
      .map(({ name }) => ({
        where: name,
        text: 'The Basic tier detects no duplicates, and has no sessions.',
        remedy: 'Take Standard or Premium.',
      })),
  ),
  check('azure.permissions', 'error', ({ resources }) => {
    const site = resources.find(({ type }) => type === 'Microsoft.Web/sites');
    if (!site || JSON.stringify(settingsOf(site)).includes('SharedAccessKey')) return [];
    const granted = JSON.stringify(
      resources.filter(({ type }) => type === 'Microsoft.Authorization/roleAssignments'),
    );
    if (granted.includes(roles['Azure Service Bus Data Owner'])) return [];
    return {
      where: site.name,
      text: 'Nothing grants its identity the role Azure Service Bus Data Owner: it can neither take jobs nor scale by the length of its queues.',
      remedy: 'Add a role assignment on the namespace.',
    };
  }),
  check('azure.settings', 'error', ({ resources }) =>
    resources
      .filter(({ type }) => type === 'Microsoft.Web/sites')
      .filter((site) => !settingsOf(site).some(({ name }) => name === 'LONGSHORE_SIGNING_KEYS'))
      .map(({ name }) => ({
        where: name,
        text: 'It has no setting LONGSHORE_SIGNING_KEYS: no function starts.',
        remedy: 'Add it, from a secure parameter or a key vault.',
      })),
  ),
];

const settingsOf = ({ properties }: ArmResource): readonly { readonly name: string }[] =>
  properties?.siteConfig?.appSettings ?? [];
