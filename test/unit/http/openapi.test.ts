import { Validator } from '@seriousme/openapi-schema-validator';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, type Job, keyRing } from '../../../core/index.ts';
import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { openApiOf } from '../../../core/surfaces/http/openapi.ts';
import { routedOperations } from '../../../core/surfaces/http/operations.ts';
import { routes } from '../../../core/surfaces/http/routes.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createBench, keys, nested, sender } from './kit.ts';

const job = (name: string, payload: Parameters<typeof defineJob>[0]['payload']): Job =>
  defineJob({ name, payload, async handle() {} }) as Job;

const plain = [
  job(
    'texts',
    z.object({ to: z.email(), at: z.iso.datetime(), id: z.uuid(), link: z.url(), long: z.string().min(50) }),
  ),
  job(
    'numbers',
    z.object({
      count: z.int().min(3),
      above: z.number().gt(7),
      yes: z.boolean(),
      preset: z.number().default(5),
    }),
  ),
  job('lists', z.object({ tags: z.array(z.string()).min(2), pair: z.tuple([z.string()]).optional() })),
  job(
    'choices',
    z.object({ size: z.enum(['s', 'm']), kind: z.literal('x'), either: z.union([z.number(), z.string()]) }),
  ),
  job(
    'documented',
    z.object({
      code: z
        .string()
        .regex(/^[A-Z]{3}-\d+$/)
        .meta({ examples: ['ABC-1'] }),
    }),
  ),
  job('nothing', z.null()),
  job('anything', z.unknown()),
  job('of-valibot', v.object({ id: v.string() })),
  job('with-a-date', z.object({ at: z.date() })),
  job('unguessable', z.object({ code: z.string().regex(/^[A-Z]{3}-\d+$/) })),
  job('asks-somebody', z.object({ id: z.string().refine(async () => true) })),
];
const jobs = [...plain, nested as Job];

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}
interface Operation {
  readonly operationId?: string;
  readonly requestBody?: { readonly content: Record<string, { readonly example?: unknown }> };
}

/** Of a credential that is bound to nothing. */
const all = { operations: routedOperations, events: null, metrics: true };
const document = openApiOf(jobs, '', all) as unknown as Document;
const exampleOf = (operation: Operation | undefined): unknown =>
  operation?.requestBody?.content['application/json']?.example;

describe('the OpenAPI document', () => {
  it.each([
    ['many jobs', openApiOf(jobs, '/api', all)],
    ['no job', openApiOf([], '', { operations: [], events: [], metrics: false })],
  ])('of %s is valid, with every reference in it', async (_, specification) => {
    const validator = new Validator();
    const result = await validator.validate(
      structuredClone(specification) as Parameters<Validator['validate']>[0],
    );
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
    const missing = [...JSON.stringify(specification).matchAll(/"\$ref":"#\/([^"]+)"/g)].filter(
      ([, path]) => {
        const steps = path!.split('/').map((step) => step.replaceAll('~1', '/'));
        return (
          steps.reduce<unknown>(
            (at, step) => (at as Record<string, unknown> | undefined)?.[step],
            specification,
          ) === undefined
        );
      },
    );
    expect(missing.map(([text]) => text)).toEqual([]);
  });

  it('describes every route, and nothing else', () => {
    const named = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { operationId }]) => operationId !== undefined)
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    );
    const routed = Object.entries(routes).flatMap(([path, methods]) =>
      Object.keys(methods).flatMap((method) =>
        method === 'POST' && path === '/jobs/{id}'
          ? jobs.map(({ name }) => `POST /jobs/${name}`)
          : [`${method} ${path}`],
      ),
    );
    expect(named.toSorted()).toEqual([...routed, 'GET /healthz'].toSorted());
  });

  it('has examples for what can be guessed, and none that a schema would refuse', () => {
    const without = jobs.filter(({ name }) => exampleOf(document.paths[`/jobs/${name}`]?.post) === undefined);
    expect(without.map(({ name }) => name)).toEqual([
      'of-valibot',
      'with-a-date',
      'unguessable',
      'asks-somebody',
    ]);
    expect(exampleOf(document.paths['/jobs/documented']?.post)).toEqual({ code: 'ABC-1' });
  });

  it('has examples that the handler accepts', async () => {
    const app = createApp({ jobs, signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
    const apiKeys = [{ id: 'operator', key: keys.operator, schedules: true, events: true as const }];
    const metrics = { text: async () => '', contentType: 'text/plain' };
    const send = sender(createHttpHandler(connect(app, memory()), { apiKeys, metrics }));
    const served = (await send('/openapi.json')).body as Document;
    expect(served).toEqual(document);
    const examples = Object.entries(served.paths).flatMap(([path, { post }]) => {
      const example = exampleOf(post);
      return example === undefined ? [] : [{ path, example }];
    });
    expect(examples.length).toBe(1 + jobs.length - 4);
    for (const { path, example } of examples) {
      expect({ path, status: (await send(path, { body: JSON.stringify(example) })).status }).toEqual({
        path,
        status: 202,
      });
    }
  });

  it('keeps a schema that refers to itself inside its component', () => {
    expect(document.components.schemas['payload.tree.walk']).toMatchObject({
      properties: { children: { items: { $ref: '#/components/schemas/payload.tree.walk' } } },
    });
  });

  it('leaves open what has no JSON Schema', () => {
    for (const name of ['of-valibot', 'with-a-date']) {
      expect(document.components.schemas[`payload.${name}`]).toEqual({
        description: expect.stringContaining(name),
      });
    }
  });

  it('shows a credential only its own jobs', async () => {
    const { send } = createBench();
    const { body, text } = await send('/openapi.json', { key: keys.reporter });
    expect(Object.keys(body.paths)).toEqual([
      '/jobs',
      '/jobs/report.nightly',
      '/jobs/{id}',
      '/jobs/{id}/result',
      '/jobs/{id}/events',
      '/jobs/{id}/promote',
      '/jobs/{id}/remove',
      '/chains/{id}',
      '/chains/{id}/cancel',
      '/openapi.json',
      '/healthz',
    ]);
    expect(text).not.toContain('invoice');
  });
});
