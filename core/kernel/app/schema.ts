/**
 * The Standard Schema interface (standardschema.dev, version 1), declared here so that the core needs no package:
 * zod, valibot, arktype and others all satisfy it.
 */

import { LongshoreError } from '../../base/errors.ts';

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type Types<S extends StandardSchema<unknown, unknown>> = NonNullable<S['~standard']['types']>;
export type SchemaInput<S extends StandardSchema<unknown, unknown>> = Types<S>['input'];
export type SchemaOutput<S extends StandardSchema<unknown, unknown>> = Types<S>['output'];

/** Returns the schema's output. Throws `PAYLOAD` with the path of each fault. Synchronous if the schema is. */
export function validate(schema: StandardSchema, value: unknown, job: string): unknown | Promise<unknown> {
  const result = schema['~standard'].validate(value);
  return result instanceof Promise ? result.then((r) => unwrap(r, job)) : unwrap(result, job);
}

/** Further issues are left out: ten thousand wrong items in a list have the same cause. */
const mostIssues = 20;

function unwrap(result: SchemaResult<unknown>, job: string): unknown {
  if (!result.issues) return result.value;
  const issues = result.issues
    .slice(0, mostIssues)
    .map((issue) => ({ path: pathOf(issue), message: issue.message }));
  const first = issues.slice(0, 5).map(({ path, message }) => `${path}: ${message}`);
  const more = result.issues.length - first.length;
  throw new LongshoreError(
    'PAYLOAD',
    `The payload does not fit the schema of job "${job}": ${first.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`,
    { issues },
  );
}

export function pathOf(issue: SchemaIssue): string {
  const steps = (issue.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step));
  return steps.length > 0 ? steps.join('.') : 'payload';
}
