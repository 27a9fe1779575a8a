/** What would be deployed, held against the app and host.json: names, numbers, permissions. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createExampleApp } from '../../../examples/app/app.ts';
import { roles, template } from '../../../infra/azure/template.ts';

interface Resource {
  readonly type: string;
  readonly name: string;
  readonly scope?: string;
  readonly dependsOn?: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: whatever ARM has
  readonly properties: any;
}

const root = resolve(import.meta.dirname, '../../..');
const { app } = createExampleApp({} as never);
const made = template(app.queues);
const resources = made.resources as readonly Resource[];
const text = JSON.stringify(made);
const ofType = (type: string): Resource[] => resources.filter((resource) => resource.type === type);
const queues = ofType('Microsoft.ServiceBus/namespaces/queues');
const [site] = ofType('Microsoft.Web/sites');
const settings = new Map<string, string>(
  site!.properties.siteConfig.appSettings.map(({ name, value }: { name: string; value: string }) => [
    name,
    value,
  ]),
);

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

  it('sets what the example reads, and the connection that its triggers name', () => {
    const main = readFileSync(join(root, 'examples/azure/main.ts'), 'utf8');
    const read = [...main.matchAll(/setting\('(\w+)'\)/g)].map(([, name]) => name!);
    const [, connection] = /connection: '(\w+)'/.exec(main)!;
    expect(read.length).toBeGreaterThan(3);
    for (const name of [...read, `${connection}__fullyQualifiedNamespace`, 'LONGSHORE_SIGNING_KEYS'])
      expect(settings.has(name), name).toBe(true);
  });

  it('holds no secret, and asks for secrets as such', () => {
    const parameters = Object.entries(made.parameters as Record<string, { type: string }>);
    const secrets = parameters.filter(([, { type }]) => type === 'securestring').map(([name]) => name);
    expect(secrets).toEqual(['databaseUrl', 'signingKeys', 'apiKey', 'smtpUrl']);
    expect(text).not.toMatch(/SharedAccessKey|listKeys|AccountKey/);
    expect(ofType('Microsoft.ServiceBus/namespaces')[0]!.properties.disableLocalAuth).toBe(true);
    const accounts = ofType('Microsoft.Storage/storageAccounts');
    expect(accounts.map(({ properties }) => properties.allowSharedKeyAccess)).toEqual([false, false]);
  });

  it('has the table and the container that the example names, where payloads that are left over go', () => {
    const main = readFileSync(join(root, 'examples/azure/main.ts'), 'utf8');
    const [, table] = /table: '(\w+)'/.exec(main)!;
    const [, container] = /container: '(\w+)'/.exec(main)!;
    const [made] = ofType('Microsoft.Storage/storageAccounts/tableServices/tables');
    const containers = ofType('Microsoft.Storage/storageAccounts/blobServices/containers');
    expect(made!.name).toContain(`'/default/${table}'`);
    const claims = containers.find(({ name }) => name.includes(`'/default/${container}'`))!;
    const account = (name: string) => /^\[concat\((.*), '[^']*'\)\]$/.exec(name)?.[1];
    expect(account(claims.name)).toBe(account(made!.name));
    for (const name of [table, container]) {
      const grants = ofType('Microsoft.Authorization/roleAssignments');
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

  it('grants the app five roles, once each', () => {
    const grants = ofType('Microsoft.Authorization/roleAssignments');
    expect(grants).toHaveLength(Object.keys(roles).length);
    for (const id of Object.values(roles)) {
      expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(grants.filter(({ properties }) => properties.roleDefinitionId.includes(id))).toHaveLength(1);
    }
    expect(site).toMatchObject({ identity: { type: 'SystemAssigned' } });
  });

  it('lets the scaler count what waits in a queue, which takes the right to manage the namespace', () => {
    const grants = ofType('Microsoft.Authorization/roleAssignments');
    const onNamespace = grants.filter(({ scope }) => scope?.includes('Microsoft.ServiceBus/namespaces'));
    const ids = onNamespace.map(
      ({ properties }) => /'([0-9a-f-]{36})'/.exec(properties.roleDefinitionId)?.[1],
    );
    expect(ids, 'Azure Service Bus Data Owner').toEqual(['090c5cfd-751d-490a-894a-3ce6f1109419']);
  });

  it('uses every parameter it declares, and declares every one it uses', () => {
    const used = new Set([...text.matchAll(/parameters\('(\w+)'\)/g)].map(([, name]) => name));
    expect([...used].sort()).toEqual(Object.keys(made.parameters).sort());
  });

  it('depends on nothing that it does not make', () => {
    const types = new Set(resources.map(({ type }) => type));
    const wanted = resources.flatMap(({ dependsOn = [] }) => dependsOn);
    expect(wanted.length).toBeGreaterThan(10);
    for (const id of wanted) expect(types, id).toContain(/resourceId\('([\w./]+)'/.exec(id)?.[1]);
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
