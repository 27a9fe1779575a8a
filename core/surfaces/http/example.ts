/** An example payload for the documentation: the schema's own, or one made up; never one that the job would refuse. */

import type { Job } from '../../kernel/app/job.ts';

type Schema = Readonly<Record<string, unknown>>;

export function exampleFor(job: Job, schema: Schema): { readonly value: unknown } | null {
  const made = sample(schema, 0);
  const value = JSON.parse(JSON.stringify(made ?? null)) as unknown;
  try {
    const result = job.schema['~standard'].validate(value);
    // An asynchronous schema may call a service; documentation must not.
    if (result instanceof Promise) {
      result.catch(() => {});
      return null;
    }
    return result.issues ? null : { value };
  } catch {
    return null;
  }
}

const deepest = 6;

const texts: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  uuid: '5f0c4a52-8d3c-4a3e-9b52-3f6d6c1a7b10',
};

function sample(schema: Schema, depth: number): unknown {
  const { examples, default: preset, anyOf, oneOf, format } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (preset !== undefined) return preset;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [branch] = (anyOf ?? oneOf ?? []) as Schema[];
  if (branch && depth < deepest) return sample(branch, depth + 1);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return depth < deepest ? sampleObject(schema, depth) : {};
    case 'array':
      return Array.from({ length: Math.min(numberOf(schema.minItems), 3) }, () =>
        sample((schema.items ?? {}) as Schema, depth + 1),
      );
    case 'string':
      return texts[String(format)] ?? 'text'.padEnd(Math.min(numberOf(schema.minLength), 100), '.');
    case 'integer':
    case 'number':
      return Math.max(numberOf(schema.minimum), numberOf(schema.exclusiveMinimum, -1) + 1);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function sampleObject({ properties, required }: Schema, depth: number): Record<string, unknown> {
  const members = (properties ?? {}) as Readonly<Record<string, Schema>>;
  const names = Array.isArray(required) ? (required as string[]) : [];
  return Object.fromEntries(names.map((name) => [name, sample(members[name] ?? {}, depth + 1)]));
}

const numberOf = (value: unknown, otherwise = 0): number => (typeof value === 'number' ? value : otherwise);
