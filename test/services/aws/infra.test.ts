/** The files of infra/aws that nothing here can start: that they are what they claim to be. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');
const folder = join(root, 'infra/aws');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

describe('compose.yml', () => {
  const { services } = parse(read('compose.yml')) as {
    services: Record<string, { image: string; ports: string[]; environment: Record<string, string> }>;
  };

  it('runs one pinned LocalStack, which only this machine can reach', () => {
    expect(Object.keys(services)).toEqual(['localstack']);
    const { image, ports } = services.localstack!;
    expect(image).toMatch(/^localstack\/localstack:\d+\.\d+\.\d+$/);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('starts the services that Longshore uses', () => {
    expect(services.localstack!.environment.SERVICES).toBe('sqs,s3,dynamodb');
  });
});

describe('README.md', () => {
  it('names every file beside it, and every alarm', () => {
    const files = readdirSync(folder).filter((name) => name !== 'README.md');
    for (const name of files) expect(read('README.md')).toContain(`\`${name}\``);
    const alarms = [
      ...readFileSync(join(root, 'serverless/alarms.yml'), 'utf8').matchAll(
        /AlarmName: \$\{self:custom\.prefix\}(.+)/g,
      ),
    ].map(([, name]) => name!);
    const kinds = [...read('README.md').matchAll(/^\| `(?:<\w+>-)?([\w-]+)` \|/gm)].map(([, kind]) => kind!);
    expect(alarms.filter((name) => !kinds.some((kind) => `-${name}`.endsWith(`-${kind}`)))).toEqual([]);
    expect(alarms.length).toBeGreaterThan(20);
  });
});

describe('.gitignore', () => {
  it('leaves out what osls writes when it deploys: the template names every resource of the account', () => {
    expect(readFileSync(join(root, '.gitignore'), 'utf8').split('\n')).toContain('.serverless/');
  });
});
