/** `longshore check aws|azure`: each thing that a template may lack is found, and one that is as it was written has nothing. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, makeProject, root, shopConfig } from '../cli/kit.ts';

const at = (path: string): string => JSON.stringify(join(root, path));
const folder = makeProject({
  'longshore.config.ts': shopConfig.replaceAll('file://', ''), // a bundler knows no such addresses
  'functions.ts': `
    export const worker = async () => ({ batchItemFailures: [] });
    export const schedule = async () => ({ enqueued: [] });
    export const state = 'dynamoStore';`,
  'main.ts': `
    import { azure } from ${at('functions/azure/index.ts')};
    import { memoryStore } from ${at('local/backends/memory/index.ts')};
    import { app } from './longshore.config.ts';
    azure(app, { connection: 'SERVICEBUS_CONNECTION', store: memoryStore });`,
});

async function findings(line: string) {
  const { code, stdout, stderr } = await cli(folder, [...line.split(' '), '--json']);
  expect(stderr).toBe('');
  const found = JSON.parse(stdout).findings as { id: string; where: string; text: string }[];
  return {
    code,
    found: found.map(({ id, where }) => `${id} ${where}`),
    texts: found.map(({ text }) => text).join('\n'),
  };
}

describe('longshore check aws', () => {
  it('finds nothing in what package writes', async () => {
    expect((await cli(folder, ['package', 'aws', '--template', 'sam'])).code).toBe(0);
    expect(await findings('check aws --template template.yaml --strict')).toEqual({
      code: 0,
      found: [],
      texts: '',
    });
  });

  it.each<[string, RegExp, string, number, string[], RegExp]>([
    [
      'a queue without a function',
      /^ {8}Mail:\n(?: {10}.*\n)+/m,
      '',
      1,
      ['aws.queues mail'],
      /No function of the template takes queue "mail"/,
    ],
    [
      'a timeout that is too short',
      /Timeout: 360/,
      'Timeout: 100',
      1,
      ['aws.timeout DefaultQueue', 'aws.timeout MailQueue'],
      /its jobs for 5 min/,
    ],
    [
      'a batch that fails as a whole',
      /^ +FunctionResponseTypes: .*\n/m,
      '',
      1,
      ['aws.batch DefaultQueue'],
      /the whole batch runs again/,
    ],
    [
      'a right that is missing',
      /^ +- sqs:ChangeMessageVisibility\n/m,
      '',
      1,
      ['aws.permissions DefaultQueue', 'aws.permissions MailQueue'],
      /does not allow sqs:ChangeMessageVisibility on DefaultQueue/,
    ],
    [
      'dead letters elsewhere',
      /-mail-dlq'\n/,
      "-mail-dead'\n",
      1,
      ['aws.dead-letters MailQueue'],
      /go to ".*-mail-dead"/,
    ],
    [
      'a table without expiry',
      /^ +TimeToLiveSpecification: .*\n/m,
      '',
      0,
      ['aws.table Table'],
      /time to live is not on/,
    ],
  ])('finds %s', async (_, pattern, instead, code, found, text) => {
    const written = readFileSync(join(folder, 'template.yaml'), 'utf8');
    const edited = written.replace(pattern, instead);
    expect(edited).not.toBe(written);
    writeFileSync(join(folder, 'edited.yaml'), edited);
    const looked = await findings('check aws --template edited.yaml');
    expect(looked).toEqual({ code, found, texts: expect.stringMatching(text) });
  });

  it.each([
    ['no such file', 'check aws --template none.yaml', /to name a file, got/],
    [
      'another file',
      'check aws --template package.json',
      /template of CloudFormation or SAM, got one without Resources/,
    ],
    ['no file at all', 'check aws', /Expected --template/],
  ])('refuses %s', async (_, line, text) => {
    const { code, stderr } = await cli(folder, line.split(' '));
    expect([code === 0, stderr]).toEqual([false, expect.stringMatching(text)]);
  });
});

describe('longshore check azure', () => {
  it('finds nothing in what package writes', async () => {
    expect((await cli(folder, ['package', 'azure'])).code).toBe(0);
    expect(await findings('check azure --strict')).toEqual({ code: 0, found: [], texts: '' });
  });

  it.each<[string, (text: string) => string, number, string[]]>([
    [
      'a queue that is missing',
      (text) => text.replaceAll("'/mail-failed'", "'/post-failed'"),
      1,
      ['azure.queues mail-failed'],
    ],
    [
      'queues without duplicate detection',
      (text) => text.replace('"requiresDuplicateDetection": true', '"requiresDuplicateDetection": false'),
      1,
      ['azure.duplicates default'],
    ],
    [
      'too few deliveries',
      (text) => text.replace('"maxDeliveryCount": 10', '"maxDeliveryCount": 2'),
      0,
      ['azure.deliveries default'],
    ],
    [
      'the Basic tier',
      (text) => text.replace('"name": "Standard",', '"name": "Basic",'),
      1,
      ["azure.tier [parameters('name')]"],
    ],
    [
      'a role that is missing',
      (text) =>
        text.replaceAll('090c5cfd-751d-490a-894a-3ce6f1109419', '00000000-0000-0000-0000-000000000000'),
      1,
      ["azure.permissions [concat(parameters('name'), '-app')]"],
    ],
    [
      'no signing keys',
      (text) => text.replace('"LONGSHORE_SIGNING_KEYS"', '"KEYS"'),
      1,
      ["azure.settings [concat(parameters('name'), '-app')]"],
    ],
    [
      'sessions that the app does not want',
      (text) => text.replace('"maxDeliveryCount": 10,', '"maxDeliveryCount": 10, "requiresSession": true,'),
      1,
      ['azure.sessions default'],
    ],
  ])('finds %s', async (_, edit, code, found) => {
    const written = readFileSync(join(folder, 'azure.template.json'), 'utf8');
    const edited = edit(written);
    expect(edited).not.toBe(written);
    writeFileSync(join(folder, 'edited.json'), edited);
    expect(await findings('check azure --template edited.json')).toMatchObject({ code, found });
  });
});
