/** The emulators in containers, which nothing here can start: that their files are what they claim to be. */

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createExampleApp } from '../../../examples/app/app.ts';
import { emulatorConfig } from '../../../infra/azure/emulator.ts';
import { queueProperties } from '../../../local/package/azure/template.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (name: string): string => readFileSync(join(root, name), 'utf8');
const { app } = createExampleApp({} as never);

describe('servicebus.json', () => {
  const made = emulatorConfig(app.queues);
  const [{ Name, Queues } = {} as never] = made.UserConfig.Namespaces;

  it('is what the app needs now', () => {
    const written = JSON.parse(read('infra/selfhost/servicebus.json'));
    expect(written, 'run node infra/azure/emulator.ts > infra/selfhost/servicebus.json').toEqual(made);
    expect(Queues.map((queue) => queue.Name)).toEqual(app.queues.flatMap((name) => [name, `${name}-failed`]));
  });

  it('has the properties of the queues in Azure, as far as the emulator allows them', () => {
    expect(Name).toBe('sbemulatorns');
    expect(Queues.length).toBeLessThanOrEqual(50);
    for (const { Properties } of Queues) {
      expect(Properties.RequiresDuplicateDetection).toBe(true);
      expect(Properties.RequiresSession).toBe(false);
      expect(Properties.LockDuration).toBe(queueProperties.lockDuration);
      expect(Properties.MaxDeliveryCount).toBeLessThanOrEqual(10);
      // Its schema's longest.
      expect(Properties.DuplicateDetectionHistoryTimeWindow).toBe('PT5M');
      expect(Properties.DefaultMessageTimeToLive).toBe('PT1H');
    }
  });
});

it('servicebus.json may have queues with sessions', () => {
  const [{ Queues } = {} as never] = emulatorConfig(['ledger'], ['ledger']).UserConfig.Namespaces;
  expect(Queues.map(({ Properties }) => Properties.RequiresSession)).toEqual([true, false]);
});

describe('azure.yml', () => {
  interface Service {
    readonly image: string;
    readonly ports?: readonly string[];
    readonly volumes?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
    readonly command?: string;
  }
  const { services } = parse(read('infra/selfhost/azure.yml')) as { services: Record<string, Service> };

  it('runs pinned images of their maker, which only this machine can reach', () => {
    expect(Object.keys(services)).toEqual(['servicebus', 'sqlserver', 'azurite']);
    for (const { image, ports = [] } of Object.values(services)) {
      expect(image).toMatch(/^mcr\.microsoft\.com\/[\w/-]+:(\d+\.\d+\.\d+|\d{4}-CU\d+-[\w.-]+)$/);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
    expect(services.sqlserver!.ports).toBeUndefined();
  });

  it('mounts the queues, and holds no password and no consent of its own', () => {
    const [source] = services.servicebus!.volumes![0]!.split(':');
    expect(existsSync(join(root, 'infra/selfhost', source!))).toBe(true);
    for (const { environment = {} } of Object.values(services)) {
      for (const name of ['ACCEPT_EULA', 'MSSQL_SA_PASSWORD'])
        if (name in environment) expect(environment[name]).toMatch(/^\$\{\w+(:\?[^}]+)?\}$/);
    }
  });

  it('runs the Azurite that the tests run', () => {
    const { devDependencies } = JSON.parse(read('package.json'));
    expect(services.azurite!.image).toBe(
      `mcr.microsoft.com/azure-storage/azurite:${devDependencies.azurite}`,
    );
    expect(services.azurite!.command).toContain('--disableTelemetry');
  });
});
