/** Alerts of Azure Monitor on metrics of the platform. The page docs/azure.md explains them. */

import { ids, named, parameter } from './names.ts';

/** The threshold of each alert, as parameters of the template. */
export const alertParameters = {
  actionGroupId: {
    type: 'string',
    defaultValue: '',
    metadata: {
      description: 'Id of the action group that alerts notify. Without it they are in the portal only.',
    },
  },
  deadLettersAbove: threshold(
    0,
    'Alerts at more dead letters in a queue: one is enough, because it waits for a person.',
  ),
  backlogAbove: threshold(1000, 'Alerts at more active messages in a queue, on average of five minutes.'),
  serverErrorsAbove: threshold(
    10,
    'Alerts at more requests within five minutes that Service Bus has failed.',
  ),
  throttledAbove: threshold(
    10,
    'Alerts at more requests within five minutes that Service Bus has throttled.',
  ),
  failuresAbove: threshold(0, 'Alerts at more invocations within five minutes that have failed as a whole.'),
} as const;

function threshold(defaultValue: number, description: string) {
  return { type: 'int', defaultValue, minValue: 0, metadata: { description } };
}

interface Alert {
  readonly name: string;
  readonly description: string;
  /** 0 critical, 1 error, 2 warning. */
  readonly severity: 0 | 1 | 2;
  readonly of: 'namespace' | 'insights';
  readonly metric: string;
  readonly aggregation: 'Average' | 'Maximum' | 'Total' | 'Count';
  readonly above: keyof typeof alertParameters;
  /** Each value is watched separately. */
  readonly dimension?: { readonly name: string; readonly values: readonly string[] };
}

const metricNamespaces = {
  namespace: 'Microsoft.ServiceBus/namespaces',
  insights: 'Microsoft.Insights/components',
} as const;

/** Status codes that are not the caller's fault; calls by a queue or a timer have 0. */
const failedCodes = ['0', '500', '502', '503', '504'];

const alerts = (queues: readonly string[]): readonly Alert[] => {
  const each = (values: readonly string[]) => ({ dimension: { name: 'EntityName', values } });
  return [
    {
      ...{ name: 'dead-letters', description: 'A job has failed for good.', severity: 1, of: 'namespace' },
      ...{ metric: 'ActiveMessages', aggregation: 'Maximum', above: 'deadLettersAbove' },
      ...each(queues.map((queue) => `${queue}-failed`)),
    },
    {
      ...{
        name: 'native-dead-letters',
        description: 'A $DeadLetterQueue has a message.',
        severity: 1,
        of: 'namespace',
      },
      ...{ metric: 'DeadletteredMessages', aggregation: 'Maximum', above: 'deadLettersAbove' },
      ...each(queues.flatMap((queue) => [queue, `${queue}-failed`])),
    },
    {
      ...{
        name: 'backlog',
        description: 'A queue grows faster than it is worked off.',
        severity: 2,
        of: 'namespace',
      },
      ...{ metric: 'ActiveMessages', aggregation: 'Average', above: 'backlogAbove' },
      ...each(queues),
    },
    {
      ...{ name: 'server-errors', description: 'Service Bus fails.', severity: 1, of: 'namespace' },
      ...{ metric: 'ServerErrors', aggregation: 'Total', above: 'serverErrorsAbove' },
    },
    {
      ...{ name: 'throttled', description: 'Service Bus refuses requests.', severity: 2, of: 'namespace' },
      ...{ metric: 'ThrottledRequests', aggregation: 'Total', above: 'throttledAbove' },
    },
    {
      ...{ name: 'failures', description: 'Functions fail as a whole.', severity: 1, of: 'insights' },
      ...{ metric: 'requests/failed', aggregation: 'Count', above: 'failuresAbove' },
      dimension: { name: 'request/resultCode', values: failedCodes },
    },
  ];
};

const alertResource = ({
  name,
  description,
  severity,
  of,
  metric,
  aggregation,
  above,
  dimension,
}: Alert) => ({
  type: 'Microsoft.Insights/metricAlerts',
  apiVersion: '2018-03-01',
  name: named(`-${name}`),
  location: 'global',
  dependsOn: [`[${ids[of]}]`],
  properties: {
    description,
    severity,
    enabled: true,
    scopes: [`[${ids[of]}]`],
    evaluationFrequency: 'PT1M',
    windowSize: 'PT5M',
    autoMitigate: true, // also reports the end
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria',
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion',
          name: 'above',
          metricNamespace: metricNamespaces[of],
          metricName: metric,
          timeAggregation: aggregation,
          operator: 'GreaterThan',
          threshold: parameter(above),
          ...(dimension && { dimensions: [{ ...dimension, operator: 'Include' }] }),
        },
      ],
    },
    actions:
      "[if(empty(parameters('actionGroupId')), createArray(), createArray(createObject('actionGroupId', parameters('actionGroupId'))))]",
  },
});

/** No metric has the names of functions, so this queries the log. host.json excludes requests from sampling. */
const tickMissing = {
  type: 'Microsoft.Insights/scheduledQueryRules',
  apiVersion: '2021-08-01',
  name: named('-tick-missing'),
  location: parameter('location'),
  dependsOn: [`[${ids.insights}]`],
  properties: {
    description: 'The timer of the schedules has stopped.',
    severity: 1,
    enabled: true,
    scopes: [`[${ids.insights}]`],
    evaluationFrequency: 'PT5M',
    windowSize: 'PT10M', // one tick per minute; the log may be some minutes late
    autoMitigate: true,
    criteria: {
      allOf: [
        {
          query: "requests | where name == 'longshore-schedule'",
          timeAggregation: 'Count',
          operator: 'LessThan',
          threshold: 1,
          failingPeriods: { numberOfEvaluationPeriods: 1, minFailingPeriodsToAlert: 1 },
        },
      ],
    },
    actions: {
      actionGroups:
        "[if(empty(parameters('actionGroupId')), createArray(), createArray(parameters('actionGroupId')))]",
    },
  },
};

/** @param queues of the app, each with another one for failed jobs */
export const alertResources = (queues: readonly string[]) => [
  ...alerts(queues).map(alertResource),
  tickMissing,
];
