/**
 * All that a function app on Service Bus needs, as an ARM template for `az deployment group create`. It has no keys: the app's own
 * identity may use the namespace, read its code and keep its state, and nothing else.
 */

import type { SBQueue } from '@azure/arm-servicebus';

/** Roles that Azure has everywhere under these ids. */
export const roles = {
  // Not Sender and Receiver: without its right to manage, the scaler guesses by peeking at the first few messages, and a
  // queue that begins with delayed ones gets too few instances.
  'Azure Service Bus Data Owner': '090c5cfd-751d-490a-894a-3ce6f1109419',
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb',
} as const;

export const queueProperties = {
  lockDuration: 'PT1M', // a killed host's messages come back after it
  maxDeliveryCount: 10, // catches crashes only: retries are copies, which begin anew
  requiresDuplicateDetection: true, // cannot be switched on later
  duplicateDetectionHistoryTimeWindow: 'PT1H', // longer than a redelivery takes, also behind a long queue
  defaultMessageTimeToLive: 'P14D',
  deadLetteringOnMessageExpiration: true, // expired messages are kept
} satisfies SBQueue;

/** Retrying one dead letter locks others too, and each time counts as a delivery. */
const failedQueue = {
  ...queueProperties,
  maxDeliveryCount: 2000,
  defaultMessageTimeToLive: 'P90D',
} satisfies SBQueue;

const parameter = (name: string): string => `[parameters('${name}')]`;
const named = (suffix: string): string => `[concat(parameters('name'), '${suffix}')]`;
const namespace = "resourceId('Microsoft.ServiceBus/namespaces', parameters('name'))";
/** Storage accounts have letters and digits only. */
const storageName = "concat('st', uniqueString(resourceGroup().id, parameters('name')))";
const storage = `resourceId('Microsoft.Storage/storageAccounts', ${storageName})`;
/** Not the host's account: access to that one includes the app's code and keys. */
const stateName = "concat('dt', uniqueString(resourceGroup().id, parameters('name')))";
const state = `resourceId('Microsoft.Storage/storageAccounts', ${stateName})`;
const tables = `resourceId('Microsoft.Storage/storageAccounts/tableServices', ${stateName}, 'default')`;
const blobs = `resourceId('Microsoft.Storage/storageAccounts/blobServices', ${stateName}, 'default')`;
const table = `resourceId('Microsoft.Storage/storageAccounts/tableServices/tables', ${stateName}, 'default', 'jobs')`;
const claims = `resourceId('Microsoft.Storage/storageAccounts/blobServices/containers', ${stateName}, 'default', 'claims')`;
const insights = "resourceId('Microsoft.Insights/components', concat(parameters('name'), '-insights'))";
const site = "resourceId('Microsoft.Web/sites', concat(parameters('name'), '-app'))";
const location = parameter('location');

function grant(role: keyof typeof roles, scopeType: string, scope: string) {
  return {
    type: 'Microsoft.Authorization/roleAssignments',
    apiVersion: '2022-04-01',
    name: `[guid(${scope}, ${site}, '${roles[role]}')]`,
    scope: `[${scope}]`,
    dependsOn: [`[${scope}]`, `[${site}]`],
    properties: {
      roleDefinitionId: `[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '${roles[role]}')]`,
      principalId: `[reference(${site}, '2024-04-01', 'full').identity.principalId]`,
      principalType: 'ServicePrincipal',
      description: `${role} on ${scopeType}`,
    },
  };
}

const queueResource = (name: string, properties: SBQueue) => ({
  type: 'Microsoft.ServiceBus/namespaces/queues',
  apiVersion: '2021-11-01',
  name: named(`/${name}`),
  dependsOn: [`[${namespace}]`],
  properties,
});

const account = (name: string) => ({
  type: 'Microsoft.Storage/storageAccounts',
  apiVersion: '2023-05-01',
  name: `[${name}]`,
  location,
  kind: 'StorageV2',
  sku: { name: 'Standard_LRS' },
  properties: {
    allowBlobPublicAccess: false,
    allowSharedKeyAccess: false,
    minimumTlsVersion: 'TLS1_2',
    supportsHttpsTrafficOnly: true,
  },
});

/** A part of the account that holds the state of jobs. */
const statePart = (type: string, path: string, dependsOn: readonly string[], properties: object = {}) => ({
  type: `Microsoft.Storage/storageAccounts/${type}`,
  apiVersion: '2023-05-01',
  name: `[concat(${stateName}, '/${path}')]`,
  dependsOn: dependsOn.map((id) => `[${id}]`),
  properties,
});

/** Leftover payloads: of messages that were never sent, and of dead letters that were discarded or have expired. */
const leftOver = {
  policy: {
    rules: [
      {
        name: 'left-over-payloads',
        type: 'Lifecycle',
        definition: {
          filters: { blobTypes: ['blockBlob'], prefixMatch: ['claims/longshore/claims/'] },
          actions: { baseBlob: { delete: { daysAfterModificationGreaterThan: 120 } } },
        },
      },
    ],
  },
};

/** @param queues of the app; each gets another one for what has failed */
export function template(queues: readonly string[]) {
  const text = (description: string, rest: object = {}) => ({
    type: 'string',
    metadata: { description },
    ...rest,
  });
  const secret = (description: string, rest: object = {}) => ({
    type: 'securestring',
    metadata: { description },
    ...rest,
  });
  const settings: Record<string, string> = {
    SERVICEBUS_CONNECTION__fullyQualifiedNamespace: "[concat(parameters('name'), '.servicebus.windows.net')]",
    AzureWebJobsStorage__accountName: `[${storageName}]`,
    APPLICATIONINSIGHTS_CONNECTION_STRING: `[reference(${insights}, '2020-02-02').ConnectionString]`,
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'Authorization=AAD',
    DATABASE_URL: parameter('databaseUrl'),
    TABLE_ENDPOINT: `[reference(${state}, '2023-05-01').primaryEndpoints.table]`,
    BLOB_ENDPOINT: `[reference(${state}, '2023-05-01').primaryEndpoints.blob]`,
    LONGSHORE_SIGNING_KEYS: parameter('signingKeys'),
    API_KEY: parameter('apiKey'),
    SMTP_URL: parameter('smtpUrl'),
    WEBHOOK_URL: parameter('webhookUrl'),
    PAYMENT_URL: parameter('paymentUrl'),
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
      databaseUrl: secret('Of a Postgres for records and keys. Without it they are in a table.', {
        defaultValue: '',
      }),
      signingKeys: secret('kid:base64,kid:base64; the first signs.'),
      apiKey: secret('For enqueueing over HTTP: at least 32 random characters.'),
      smtpUrl: secret('Where the example sends its mail.'),
      webhookUrl: text('Where the example sends its webhooks.'),
      paymentUrl: text('Where the example takes payments.'),
      mostInstances: {
        type: 'int',
        defaultValue: 40,
        minValue: 40,
        maxValue: 1000,
        metadata: {
          description: 'At most so many instances run the queues; the platform allows no fewer than 40.',
        },
      },
    },
    resources: [
      {
        type: 'Microsoft.ServiceBus/namespaces',
        apiVersion: '2021-11-01',
        name: parameter('name'),
        location,
        sku: { name: 'Standard', tier: 'Standard' }, // Basic detects no duplicates
        properties: { minimumTlsVersion: '1.2', disableLocalAuth: true },
      },
      ...queues.flatMap((name) => [
        queueResource(name, queueProperties),
        queueResource(`${name}-failed`, failedQueue),
      ]),
      account(storageName),
      account(stateName),
      statePart('tableServices', 'default', [state]),
      statePart('tableServices/tables', 'default/jobs', [tables]),
      statePart('blobServices', 'default', [state]),
      statePart('blobServices/containers', 'default/claims', [blobs]),
      statePart('managementPolicies', 'default', [blobs], leftOver),
      {
        type: 'Microsoft.Storage/storageAccounts/blobServices/containers',
        apiVersion: '2023-05-01',
        name: `[concat(${storageName}, '/default/app-package')]`,
        dependsOn: [`[${storage}]`],
        properties: {},
      },
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
        dependsOn: [
          "[resourceId('Microsoft.OperationalInsights/workspaces', concat(parameters('name'), '-logs'))]",
        ],
        properties: {
          Application_Type: 'web',
          DisableLocalAuth: true,
          WorkspaceResourceId:
            "[resourceId('Microsoft.OperationalInsights/workspaces', concat(parameters('name'), '-logs'))]",
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
          "[resourceId('Microsoft.Web/serverfarms', concat(parameters('name'), '-plan'))]",
          `[${namespace}]`,
          `[${storage}]`,
          `[${state}]`,
          `[${insights}]`,
        ],
        properties: {
          serverFarmId: "[resourceId('Microsoft.Web/serverfarms', concat(parameters('name'), '-plan'))]",
          httpsOnly: true,
          functionAppConfig: {
            deployment: {
              storage: {
                type: 'blobContainer',
                value: `[concat('https://', ${storageName}, '.blob.', environment().suffixes.storage, '/app-package')]`,
                authentication: { type: 'SystemAssignedIdentity' },
              },
            },
            scaleAndConcurrency: { maximumInstanceCount: parameter('mostInstances'), instanceMemoryMB: 2048 },
            runtime: { name: 'node', version: '22' },
          },
          siteConfig: {
            minTlsVersion: '1.2',
            appSettings: Object.entries(settings).map(([name, value]) => ({ name, value })),
          },
        },
      },
      grant('Azure Service Bus Data Owner', 'the namespace', namespace),
      grant('Storage Blob Data Owner', 'its storage', storage),
      grant('Storage Table Data Contributor', 'the table of its jobs', table),
      grant('Storage Blob Data Contributor', 'the container of large payloads', claims),
      grant('Monitoring Metrics Publisher', 'its Application Insights', insights),
    ],
  };
}
