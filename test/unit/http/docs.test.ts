/** docs/http.md: its examples are run, and its table of errors is what the wrong requests get. */

import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { errorCodes } from '../../../core/base/error-codes.ts';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { type HttpServer, serveHttp } from '../../../local/serve.ts';
import { keys } from './kit.ts';
import { rows } from './wrong.ts';
import { items } from './wrong-items.ts';

const page = readFileSync(new URL('../../../docs/http.md', import.meta.url), 'utf8');

interface Example {
  readonly command: string;
  readonly status: number;
  readonly expected: unknown;
}

const examples: Example[] = [...page.matchAll(/^```sh run\n([\s\S]*?)^```/gm)].flatMap(([, block]) =>
  [...block!.matchAll(/^(curl .*)\n# (\d{3}) (.*)$/gm)].map(([, command, status, body]) => ({
    command: command!,
    status: Number(status),
    expected: JSON.parse(body!, (_, value) => (String(value).includes('…') ? expect.any(String) : value)),
  })),
);

const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** The words of a command in the few forms the page uses: bare, 'as it is' and "with $VARIABLES". */
function words(command: string, variables: Readonly<Record<string, string>>): string[] {
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, quoted, expanded, bare]) =>
      quoted ?? (expanded ?? bare!).replace(/\$(\w+)/g, (_, name: string) => variables[name] ?? ''),
  );
}

interface Answer {
  readonly status: number;
  readonly body: { readonly id?: string };
}

const execute = promisify(execFile); // not the synchronous one: the server is in this process

async function byCurl(args: readonly string[]): Promise<Answer> {
  const { stdout: printed } = await execute('curl', args);
  const [head = '', body = ''] = printed.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body) };
}

async function byFetch(args: readonly string[]): Promise<Answer> {
  const after = (flag: string): string[] => args.flatMap((arg, i) => (arg === flag ? [args[i + 1]!] : []));
  const [data] = after('-d');
  const answer = await fetch(args.find((arg) => arg.startsWith('http'))!, {
    method: after('-X')[0] ?? (data === undefined ? 'GET' : 'POST'),
    headers: after('-H').map((line) => line.split(': ') as [string, string]),
    ...(data !== undefined && { body: data }),
  });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

describe('the examples of docs/http.md', () => {
  let server: HttpServer;
  beforeAll(async () => {
    const payload = z.object({ invoiceId: z.string(), to: z.email() });
    const job = defineJob({ name: 'invoice.send', queue: 'mail', payload, async handle() {} });
    const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
    const apiKeys = [{ id: 'shop', key: keys.acme, tenantId: 'acme' }];
    server = await serveHttp(createHttpHandler(connect(app, memory()), { apiKeys }), { port: 0 });
  });
  afterAll(() => server.close());

  it('are found', () => expect(examples.length).toBeGreaterThanOrEqual(9));

  it.each(hasCurl ? ['curl', 'fetch'] : ['fetch'])('answer with %s as the page says', async (client) => {
    const variables: Record<string, string> = { URL: server.url, KEY: keys.acme };
    for (const { command, status, expected } of examples) {
      const [, ...args] = words(command, variables);
      const answer = client === 'curl' ? await byCurl(args) : await byFetch(args);
      expect({ command, ...answer }).toMatchObject({ command, status, body: expected });
      if (answer.body.id) variables.ID = answer.body.id;
    }
  });
});

describe('the table of errors', () => {
  const table = [...page.matchAll(/^\| (\d{3}) \| (`[^|]+`) \|/gm)].flatMap(([, status, codes]) =>
    [...codes!.matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`),
  );

  it('names what wrong requests get, with codes that exist', () => {
    const met = [
      ...rows.map(([, , , status, code]) => `${status} ${code}`),
      ...items.map(([, , status, code]) => `${status} ${code}`),
    ];
    expect([...new Set(met)].filter((pair) => !table.includes(pair))).toEqual([]);
    expect(table.filter((pair) => !(errorCodes as readonly string[]).includes(pair.slice(4)))).toEqual([]);
  });

  it('names nothing that no test meets', () => {
    // 409, 429 and 503 need a state or a failure and are met in the other tests of this folder.
    const met = new Set([...rows, ...items].map((row) => String(row.at(-3))));
    const others = table.map((pair) => pair.slice(0, 3)).filter((status) => !met.has(status));
    expect([...new Set(others)]).toEqual(['409', '429', '501', '503']);
  });
});
