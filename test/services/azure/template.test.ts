/** What would be deployed, held against the app and host.json: names, numbers, permissions. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SBQueue } from '@azure/arm-servicebus';
import { describe, expect, it } from 'vitest';
import { hostJson } from '../../../local/package/azure/host-json.ts';
import { queueProperties, roles, template } from '../../../local/package/azure/template.ts';
import { app, made, plan } from './template-kit.ts';

interface Resource {
  readonly type: string;
  readonly apiVersion: string;
  readonly name: string;
  readonly scope?: string;
  readonly dependsOn?: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: whatever ARM has
  readonly properties: any;
}

const root = resolve(import.meta.dirname, '../../..');
const outer = made.resources as readonly Resource[];
/** With those of the deployments inside the deployment. */
const resources = outer.flatMap((one): Resource[] => [one, ...(one.properties.template?.resources ?? [])]);
const text = JSON.stringify(made);
const ofType = (type: string): Resource[] => resources.filter((resource) => resource.type === type);
const queues = ofType('Microsoft.ServiceBus/namespaces/queues');
const grants = ofType('Microsoft.Authorization/roleAssignments');
const [site] = ofType('Microsoft.Web/sites');
const settings = new Map<string, string>(
  site!.properties.siteConfig.appSettings.map(({ name, value }: { name: string; value: string }) => [
    name,
    value,
  ]),
);

/** What may be written at a version of the API, by https://learn.microsoft.com/azure/templates; those of sites are too many. */
const knownProperties = {
  'Microsoft.ServiceBus/namespaces@2024-01-01': [
    ...['alternateName', 'disableLocalAuth', 'encryption', 'minimumTlsVersion', 'premiumMessagingPartitions'],
    ...['privateEndpointConnections', 'publicNetworkAccess', 'zoneRedundant'],
  ],
  'Microsoft.ServiceBus/namespaces/queues@2024-01-01': [
    ...['autoDeleteOnIdle', 'deadLetteringOnMessageExpiration', 'defaultMessageTimeToLive', 'forwardTo'],
    ...['duplicateDetectionHistoryTimeWindow', 'enableBatchedOperations', 'enableExpress', 'lockDuration'],
    ...['enablePartitioning', 'forwardDeadLetteredMessagesTo', 'maxDeliveryCount', 'maxSizeInMegabytes'],
    ...['maxMessageSizeInKilobytes', 'requiresDuplicateDetection', 'requiresSession', 'status'],
  ],
  'Microsoft.Authorization/roleAssignments@2022-04-01': [
    ...['condition', 'conditionVersion', 'delegatedManagedIdentityResourceId', 'description'],
    ...['principalId', 'principalType', 'roleDefinitionId'],
  ],
  'Microsoft.Insights/metricAlerts@2018-03-01': [
    ...['actions', 'autoMitigate', 'criteria', 'description', 'enabled', 'evaluationFrequency', 'scopes'],
    ...['severity', 'targetResourceRegion', 'targetResourceType', 'windowSize'],
  ],
  'Microsoft.Insights/scheduledQueryRules@2021-08-01': [
    ...[
      'actions',
      'autoMitigate',
      'criteria',
      'description',
      'displayName',
      'enabled',
      'evaluationFrequency',
    ],
    ...['muteActionsDuration', 'overrideQueryTimeRange', 'scopes', 'severity', 'skipQueryValidation'],
    ...['targetResourceTypes', 'windowSize'],
  ],
  'Microsoft.Resources/deployments@2022-09-01': [
    ...['debugSetting', 'expressionEvaluationOptions', 'mode', 'onErrorDeployment'],
    ...['parameters', 'parametersLink', 'template', 'templateLink'],
  ],
} as const;

/** Of an ISO 8601 duration, in ms. */
function msOf(duration: string): number {
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] =
    /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/
      .exec(duration)
      ?.map((part) => Number(part ?? 0)) ?? [];
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000;
}
const minute = 60_000;

describe('the template', () => {
  it('has the queues of the app, each with one for what has failed, and no other', () => {
    const names = queues.map(({ name }) => /'\/([\w.-]+)'/.exec(name)?.[1]);
    expect(names).toEqual(app.queues.flatMap((name) => [name, `${name}-failed`]));
  });

  it('has queues that detect duplicates, without sessions, in numbers that Service Bus allows', () => {
    for (const { name, properties } of queues) {
      expect(properties.requiresDuplicateDetection, name).toBe(true);
      expect(properties.requiresSession, name).toBeUndefined();
      expect(msOf(properties.lockDuration)).toBeGreaterThanOrEqual(5_000);
      expect(msOf(properties.lockDuration)).toBeLessThanOrEqual(5 * minute);
      const windowMs = msOf(properties.duplicateDetectionHistoryTimeWindow);
      expect(windowMs).toBeGreaterThan(
        properties.maxDeliveryCount > 100 ? 0 : 10 * msOf(properties.lockDuration),
      );
      expect(windowMs).toBeLessThanOrEqual(7 * 24 * 60 * minute);
      expect(properties.maxDeliveryCount).toBeGreaterThanOrEqual(5);
      expect(properties.maxDeliveryCount).toBeLessThanOrEqual(2_000);
    }
    expect(ofType('Microsoft.ServiceBus/namespaces')[0]).toMatchObject({ sku: { name: 'Standard' } });
  });

  it('has sessions in the queues that are named for it, and not in those of their dead letters', () => {
    const [name, ...others] = app.queues as [string, ...string[]];
    const having = template({ ...plan, queues: [name, ...others], sessions: [name] }).resources.flatMap(
      (resource) =>
        'properties' in resource && (resource.properties as { requiresSession?: true }).requiresSession
          ? [(resource as { name: string }).name]
          : [],
    );
    expect(having).toEqual([expect.stringContaining(`'/${name}'`)]);
  });

  it('sets what the example reads, and the connection that its triggers name', () => {
    const main = readFileSync(join(root, 'examples/azure/main.ts'), 'utf8');
    const services = readFileSync(join(root, 'examples/cloud/services.ts'), 'utf8');
    const read = [...(main + services).matchAll(/(?:setting|required)\('(\w+)'\)/g)].map(([, name]) => name!);
    const [, connection] = /connection: '(\w+)'/.exec(main)!;
    expect(read).toEqual(expect.arrayContaining(['SHOP_DATABASE_URL', 'SMTP_URL', 'BLOB_ENDPOINT']));
    const needed = [...read, 'WEBHOOK_URL', 'PAYMENT_URL', 'LONGSHORE_SIGNING_KEYS'];
    for (const name of [...needed, `${connection}__fullyQualifiedNamespace`])
      expect(settings.has(name), name).toBe(true);
    expect([...settings.keys()], 'of a simulation: each instance has a disk of its own').not.toContain(
      'SHOP_FOLDER',
    );
  });

  it('asks for what the example cannot do without, and has no address of its own for it', () => {
    const asked = Object.entries<object>(made.parameters).filter(([, one]) => !('defaultValue' in one));
    expect(asked.map(([name]) => name)).toEqual([
      ...['name', 'signingKeys', 'shopDatabaseUrl', 'apiKey', 'smtpUrl', 'webhookUrl', 'paymentUrl'],
    ]);
    expect(text).not.toMatch(/localhost|127\.0\.0\.1/);
  });

  it('holds no secret, and asks for secrets as such', () => {
    const parameters = Object.entries(made.parameters as Record<string, { type: string }>);
    const secrets = parameters.filter(([, { type }]) => type === 'securestring').map(([name]) => name);
    expect(secrets).toEqual(['signingKeys', 'databaseUrl', 'shopDatabaseUrl', 'apiKey', 'smtpUrl']);
    expect(text).not.toMatch(/SharedAccessKey|listKeys|AccountKey/);
    expect(ofType('Microsoft.ServiceBus/namespaces')[0]!.properties.disableLocalAuth).toBe(true);
    const accounts = ofType('Microsoft.Storage/storageAccounts');
    expect(accounts.map(({ properties }) => properties.allowSharedKeyAccess)).toEqual([false, false]);
  });

  it('has the table and the containers that the example names, and removes payloads that are left over', () => {
    const main = readFileSync(join(root, 'examples/azure/main.ts'), 'utf8');
    const [, table] = /table: '(\w+)'/.exec(main)!;
    const [, container] = /container: '(\w+)'/.exec(main)!;
    const [, files] = /blobFiles\('(\w+)'/.exec(main)!;
    const [made] = ofType('Microsoft.Storage/storageAccounts/tableServices/tables');
    const containers = ofType('Microsoft.Storage/storageAccounts/blobServices/containers');
    expect(made!.name).toContain(`'/default/${table}'`);
    const account = (name: string) => /^\[concat\((.*), '[^']*'\)\]$/.exec(name)?.[1];
    for (const named of [container, files]) {
      const found = containers.find(({ name }) => name.includes(`'/default/${named}'`))!;
      expect(account(found.name)).toBe(account(made!.name));
    }
    for (const name of [table, container, files]) {
      const scoped = grants.filter(({ scope }) => scope?.includes(`'default', '${name}')`));
      expect(scoped, `${name} alone, and not its account`).toHaveLength(1);
    }
    const [{ properties } = {} as never] = ofType('Microsoft.Storage/storageAccounts/managementPolicies');
    const [{ definition }] = properties.policy.rules;
    expect(definition.filters.prefixMatch).toEqual([`${container}/longshore/claims/`]);
    // Longer than a dead letter lives, and as long again as it may have waited before.
    const [oldest] = queues
      .map(({ properties }) => msOf(properties.defaultMessageTimeToLive))
      .sort((a, b) => b - a);
    const days = definition.actions.baseBlob.delete.daysAfterModificationGreaterThan;
    expect(days * 24 * 60 * minute).toBeGreaterThan(oldest! + msOf('P14D'));
  });

  it('grants the app its roles by their ids, and none twice in one place', () => {
    const granted = grants.map(({ properties }) => /'([0-9a-f-]{36})'/.exec(properties.roleDefinitionId)![1]);
    expect([...new Set(granted)].sort()).toEqual(Object.values(roles).sort());
    const places = grants.map(({ scope }, i) => `${granted[i]} ${scope}`);
    expect(new Set(places).size).toBe(places.length);
    expect(site).toMatchObject({ identity: { type: 'SystemAssigned' } });
  });

  it('lets the scaler count what waits in a queue, which takes the right to manage the namespace', () => {
    const onNamespace = grants.filter(({ scope }) => scope?.includes('Microsoft.ServiceBus/namespaces'));
    const ids = onNamespace.map(
      ({ properties }) => /'([0-9a-f-]{36})'/.exec(properties.roleDefinitionId)?.[1],
    );
    expect(ids, 'Azure Service Bus Data Owner').toEqual(['090c5cfd-751d-490a-894a-3ce6f1109419']);
  });

  it('uses every parameter it declares, and declares every one it uses', () => {
    const usedIn = (part: unknown) =>
      [
        ...new Set([...JSON.stringify(part).matchAll(/parameters\('(\w+)'\)/g)].map(([, name]) => name)),
      ].sort();
    const { template: inner, parameters } = ofType('Microsoft.Resources/deployments')[0]!.properties;
    expect(usedIn(inner.resources)).toEqual(Object.keys(inner.parameters).sort());
    expect(Object.keys(parameters)).toEqual(Object.keys(inner.parameters));
    const own = outer.map((one) => ({ ...one, properties: { ...one.properties, template: null } }));
    expect(usedIn(own)).toEqual(Object.keys(made.parameters).sort());
  });

  it('depends on nothing that it does not make', () => {
    const types = new Set(resources.map(({ type }) => type));
    const wanted = resources.flatMap(({ dependsOn = [] }) => dependsOn);
    expect(wanted.length).toBeGreaterThan(10);
    for (const id of wanted) expect(types, id).toContain(/resourceId\('([\w./]+)'/.exec(id)?.[1]);
  });

  it('names everything by what is known before it is deployed, and roles by the identity that has them', () => {
    for (const { name } of resources) expect(name).not.toContain('reference(');
    // The id of an app that is made again is that of the first; its identity is another one.
    for (const { name } of grants) expect(name).toContain("parameters('principalId')");
    expect(new Set(grants.map(({ name }) => name)).size).toBe(grants.length);
  });

  it.each(Object.entries(knownProperties))('sets only what %s has', (typeAndVersion, known) => {
    const [type, apiVersion] = typeAndVersion.split('@');
    const found = ofType(type!);
    expect(found.length).toBeGreaterThan(0);
    for (const one of found) {
      expect(one.apiVersion).toBe(apiVersion);
      expect(known).toEqual(expect.arrayContaining(Object.keys(one.properties)));
    }
  });

  it('is deployed by the docs with every parameter that has no default, and none that it does not have', () => {
    const page = readFileSync(join(root, 'docs/azure.md'), 'utf8');
    const [command] = /az deployment group create .*?(?=\n```)/s.exec(page)!;
    const given = [...command.matchAll(/ (\w+)=/g)].map(([, name]) => name!);
    const needed = Object.entries<object>(made.parameters).filter(([, one]) => !('defaultValue' in one));
    expect(given.sort()).toEqual(needed.map(([name]) => name).sort());
  });

  it('lets instances be as few and as large as the platform does, and keeps none ready by default', () => {
    const { mostInstances, instanceMemoryMB, alwaysReady } = made.parameters;
    expect([mostInstances.minValue, mostInstances.maxValue]).toEqual([1, 1000]);
    expect(instanceMemoryMB).toMatchObject({ allowedValues: [512, 2048, 4096], defaultValue: 2048 });
    expect(alwaysReady).toMatchObject({ type: 'array', defaultValue: [] });
    expect(site!.properties.functionAppConfig.scaleAndConcurrency).toEqual({
      maximumInstanceCount: "[parameters('mostInstances')]",
      instanceMemoryMB: "[parameters('instanceMemoryMB')]",
      alwaysReady: "[parameters('alwaysReady')]",
    });
  });

  it('has types that the SDK of Service Bus knows', () => {
    const checked: SBQueue = queueProperties;
    expect(checked.requiresDuplicateDetection).toBe(true);
  });

  it('stands beside the host.json of this repository', () => {
    expect(readFileSync(join(root, 'host.json'), 'utf8').replaceAll(/\s/g, '')).toBe(
      hostJson(plan).replaceAll(/\s/g, ''),
    );
  });

  it('has balanced brackets in every expression', () => {
    const expressions = [...text.matchAll(/"(\[[^"]*)"/g)].map(([, expression]) => expression!);
    for (const expression of expressions) {
      expect(expression.endsWith(']'), expression).toBe(true);
      const count = (mark: string) => expression.split(mark).length;
      expect(count('('), expression).toBe(count(')'));
      expect(count("'") % 2, expression).toBe(1);
    }
    expect(expressions.length).toBeGreaterThan(50);
  });

  it('runs on a Node that the package takes', () => {
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const { runtime } = site!.properties.functionAppConfig;
    expect(runtime.name).toBe('node');
    expect(Number(runtime.version)).toBeGreaterThanOrEqual(
      Number.parseInt(engines.node.replace('>=', ''), 10),
    );
  });
});
