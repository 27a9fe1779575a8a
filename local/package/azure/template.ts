/**
 * All resources of a function app on Service Bus, as an ARM template for `az deployment group create`. It contains no keys: the app's own
 * identity may use the namespace, read its code and keep its state, and nothing else.
 */

import { alertParameters, alertResources } from './alerts.ts';
import { containerId, ids, named, parameter, stateName, storageName } from './names.ts';
import type { AzurePlan } from './plan.ts';

export const queueProperties = {
  lockDuration: 'PT1M', // messages of a killed host come back after it
  maxDeliveryCount: 10, // counts crashes only: retries are copies, which start at zero
  requiresDuplicateDetection: true, // cannot be switched on later
  duplicateDetectionHistoryTimeWindow: 'PT1H', // longer than a redelivery takes, also behind a long queue
  defaultMessageTimeToLive: 'P14D',
  deadLetteringOnMessageExpiration: true, // expired messages are kept
} as const;

/** Retrying one dead letter also locks others, and each lock counts as a delivery. */
const failedQueue = { ...queueProperties, maxDeliveryCount: 2000, defaultMessageTimeToLive: 'P90D' };

const location = parameter('location');

const queueResource = (name: string, properties: object) => ({
  type: 'Microsoft.ServiceBus/namespaces/queues',
  apiVersion: '2024-01-01',
  name: named(`/${name}`),
  dependsOn: [`[${ids.namespace}]`],
  properties,
});

const text = (description: string, rest: object = {}) => ({
  type: 'string',
  metadata: { description },
  ...rest,
});
const secret = (description: string, rest: object = {}) => ({
  ...text(description, rest),
  type: 'securestring',
});

const settingParameter = ({ variable, kind }: AzurePlan['settings'][number]) =>
  kind === 'parameter'
    ? text(`The setting ${variable}.`)
    : secret(`The setting ${variable}.`, kind === 'optional secret' ? { defaultValue: '' } : {});

export function template(plan: AzurePlan) {
  const { queues, sessions, settings: own, containers } = plan;
  const settings: Record<string, string> = {
    SERVICEBUS_CONNECTION__fullyQualifiedNamespace: "[concat(parameters('name'), '.servicebus.windows.net')]",
    AzureWebJobsStorage__accountName: `[${storageName}]`,
    APPLICATIONINSIGHTS_CONNECTION_STRING: `[reference(${ids.insights}, '2020-02-02').ConnectionString]`,
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'Authorization=AAD',
    ...(plan.hasTable && {
      TABLE_ENDPOINT: `[reference(${ids.state}, '2023-05-01').primaryEndpoints.table]`,
    }),
    ...(containers.length > 0 && {
      BLOB_ENDPOINT: `[reference(${ids.state}, '2023-05-01').primaryEndpoints.blob]`,
    }),
    LONGSHORE_SIGNING_KEYS: parameter('signingKeys'),
    ...Object.fromEntries(own.map(({ variable, parameter: name }) => [variable, parameter(name)])),
    NODE_ENV: 'production',
  };
  return {
    $schema: 'https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#',
    contentVersion: '1.0.0.0',
    parameters: {
      name: text('Begins every name; that of the namespace is taken once in the world.', {
        minLength: 6,
        maxLength: 40,
      }),
      location: text('Where everything is.', { defaultValue: '[resourceGroup().location]' }),
      signingKeys: secret('LONGSHORE_SIGNING_KEYS: kid:base64,kid:base64; the first signs.'),
      ...Object.fromEntries(own.map((one) => [one.parameter, settingParameter(one)])),
      mostInstances: {
        type: 'int',
        defaultValue: 40,
        minValue: 1,
        maxValue: 1000,
        metadata: { description: 'At most so many instances run each queue.' },
      },
      instanceMemoryMB: {
        type: 'int',
        defaultValue: 2048,
        allowedValues: [512, 2048, 4096],
        metadata: { description: 'Memory of an instance.' },
      },
      ...alertParameters,
      alwaysReady: {
        type: 'array',
        defaultValue: [],
        metadata: {
          description:
            'Instances that never stop: [{"name": "function:longshore-worker-mail", "instanceCount": 1}], or "http" as the name.',
        },
      },
    },
    resources: [
      {
        type: 'Microsoft.ServiceBus/namespaces',
        apiVersion: '2024-01-01',
        name: parameter('name'),
        location,
        sku: { name: 'Standard', tier: 'Standard' }, // Basic detects no duplicates
        properties: { minimumTlsVersion: '1.2', disableLocalAuth: true },
      },
      ...queues.flatMap((name) => [
        queueResource(name, {
          ...queueProperties,
          ...(sessions.includes(name) && { requiresSession: true }),
        }),
        queueResource(`${name}-failed`, failedQueue),
      ]),
      ...storageResources(plan),
      {
        type: 'Microsoft.OperationalInsights/workspaces',
        apiVersion: '2023-09-01',
        name: named('-logs'),
        location,
        properties: { sku: { name: 'PerGB2018' }, retentionInDays: 30 },
      },
      {
        type: 'Microsoft.Insights/components',
        apiVersion: '2020-02-02',
        name: named('-insights'),
        location,
        kind: 'web',
        dependsOn: [`[${ids.logs}]`],
        properties: {
          Application_Type: 'web',
          DisableLocalAuth: true,
          WorkspaceResourceId: `[${ids.logs}]`,
        },
      },
      {
        type: 'Microsoft.Web/serverfarms',
        apiVersion: '2024-04-01',
        name: named('-plan'),
        location,
        kind: 'functionapp',
        sku: { name: 'FC1', tier: 'FlexConsumption' },
        properties: { reserved: true },
      },
      {
        type: 'Microsoft.Web/sites',
        apiVersion: '2024-04-01',
        name: named('-app'),
        location,
        kind: 'functionapp,linux',
        identity: { type: 'SystemAssigned' },
        dependsOn: [
          `[${ids.plan}]`,
          `[${ids.namespace}]`,
          `[${ids.storage}]`,
          ...(plan.hasState ? [`[${ids.state}]`] : []),
          `[${ids.insights}]`,
        ],
        properties: {
          serverFarmId: `[${ids.plan}]`,
          httpsOnly: true,
          functionAppConfig: {
            deployment: {
              storage: {
                type: 'blobContainer',
                value: `[concat('https://', ${storageName}, '.blob.', environment().suffixes.storage, '/app-package')]`,
                authentication: { type: 'SystemAssignedIdentity' },
              },
            },
            scaleAndConcurrency: {
              maximumInstanceCount: parameter('mostInstances'),
              instanceMemoryMB: parameter('instanceMemoryMB'),
              alwaysReady: parameter('alwaysReady'),
            },
            runtime: { name: 'node', version: '22' },
          },
          siteConfig: {
            minTlsVersion: '1.2',
            appSettings: Object.entries(settings).map(([name, value]) => ({ name, value })),
          },
        },
      },
      rolesDeployment(plan),
      ...alertResources(queues),
    ],
  };
}

const account = (name: string) => ({
  type: 'Microsoft.Storage/storageAccounts',
  apiVersion: '2023-05-01',
  name: `[${name}]`,
  location: parameter('location'),
  kind: 'StorageV2',
  sku: { name: 'Standard_LRS' },
  properties: {
    allowBlobPublicAccess: false,
    allowSharedKeyAccess: false,
    minimumTlsVersion: 'TLS1_2',
    supportsHttpsTrafficOnly: true,
  },
});

const part = (
  accountName: string,
  type: string,
  path: string,
  dependsOn: string,
  properties: object = {},
) => ({
  type: `Microsoft.Storage/storageAccounts/${type}`,
  apiVersion: '2023-05-01',
  name: `[concat(${accountName}, '/${path}')]`,
  dependsOn: [`[${dependsOn}]`],
  properties,
});

/** Leftover payloads: of messages that were never sent, and of dead letters that were discarded or have expired. */
const leftOver = (container: string) => ({
  policy: {
    rules: [
      {
        name: 'left-over-payloads',
        type: 'Lifecycle',
        definition: {
          filters: { blobTypes: ['blockBlob'], prefixMatch: [`${container}/longshore/claims/`] },
          actions: { baseBlob: { delete: { daysAfterModificationGreaterThan: 120 } } },
        },
      },
    ],
  },
});

/** Two accounts without keys: one for the Functions host and the app's code, one for the state of jobs and the app's files. */
function storageResources({ hasTable, hasState, containers, payloads }: AzurePlan) {
  const table = [
    part(stateName, 'tableServices', 'default', ids.state),
    part(stateName, 'tableServices/tables', 'default/jobs', ids.tables),
  ];
  const blobs = [
    part(stateName, 'blobServices', 'default', ids.state),
    ...containers.map((name) => part(stateName, 'blobServices/containers', `default/${name}`, ids.blobs)),
  ];
  return [
    account(storageName),
    part(storageName, 'blobServices/containers', 'default/app-package', ids.storage),
    ...(hasState ? [account(stateName)] : []),
    ...(hasTable ? table : []),
    ...(containers.length > 0 ? blobs : []),
    ...(payloads === null
      ? []
      : [part(stateName, 'managementPolicies', 'default', ids.blobs, leftOver(payloads))]),
  ];
}

/** The roles of the app's own identity. Their ids are the same everywhere in Azure. */
export const roles = {
  // Not Sender and Receiver: without the right to manage, the scaler estimates by peeking at the first few messages, and a queue that begins
  // with delayed ones gets too few instances.
  'Azure Service Bus Data Owner': '090c5cfd-751d-490a-894a-3ce6f1109419',
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb',
} as const;

type Grant = readonly [role: keyof typeof roles, scope: string];

const grantsOf = ({ hasTable, containers }: AzurePlan): readonly Grant[] => [
  ['Azure Service Bus Data Owner', ids.namespace],
  ['Storage Blob Data Owner', ids.storage],
  ...(hasTable ? [['Storage Table Data Contributor', ids.table] as const] : []),
  ...containers.map((name): Grant => ['Storage Blob Data Contributor', containerId(name)]),
  ['Monitoring Metrics Publisher', ids.insights],
];

const roleAssignment = ([role, scope]: Grant) => ({
  type: 'Microsoft.Authorization/roleAssignments',
  apiVersion: '2022-04-01',
  name: `[guid(${scope}, parameters('principalId'), '${roles[role]}')]`,
  scope: `[${scope}]`,
  properties: {
    roleDefinitionId: `[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '${roles[role]}')]`,
    principalId: parameter('principalId'),
    principalType: 'ServicePrincipal',
    description: `${role} for the function app`,
  },
});

/**
 * A nested deployment. An app that is created again has another identity, and so needs role assignments with other names, because Azure cannot
 * change the identity of an assignment. A name may not depend on values that are known only during the deployment, such as identities. Inside a
 * nested deployment the identity is a parameter, which is allowed.
 */
const rolesDeployment = (plan: AzurePlan) => ({
  type: 'Microsoft.Resources/deployments',
  apiVersion: '2022-09-01',
  name: named('-roles'),
  dependsOn: [ids.site, ...grantsOf(plan).map(([, scope]) => scope)].map((id) => `[${id}]`),
  properties: {
    mode: 'Incremental',
    expressionEvaluationOptions: { scope: 'Inner' },
    parameters: {
      name: { value: parameter('name') },
      principalId: { value: `[reference(${ids.site}, '2024-04-01', 'full').identity.principalId]` },
    },
    template: {
      $schema: 'https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#',
      contentVersion: '1.0.0.0',
      parameters: { name: { type: 'string' }, principalId: { type: 'string' } },
      resources: grantsOf(plan).map(roleAssignment),
    },
  },
});
