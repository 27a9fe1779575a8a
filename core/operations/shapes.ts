/** JSON schemas of the operations' answers. They describe the answers in the OpenAPI document, and form them. */

import { latestMs } from '../base/clock.ts';

export type Json = Readonly<Record<string, unknown>>;

export const text = { type: 'string' };
export const count = { type: 'integer', minimum: 0 };
/** A time: epoch ms in the value, RFC 3339 in the answer. */
export const moment = { type: 'string', format: 'date-time' };
export const priority = {
  anyOf: [{ enum: ['critical', 'high', 'normal', 'low'] }, { type: 'integer', minimum: 0, maximum: 9 }],
};
export const orNull = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] });
export const list = (items: Json): Json => ({ type: 'array', items });
export const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
/** @param optional members that may be left out */
export const object = (properties: Json, optional: readonly string[] = []): Json => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

/** The backends that did not answer, so that their rows are missing. The reason is for operators only. */
export const unavailable = list(object({ backend: text, code: text }));

/** A schema with its name in the OpenAPI document. Without a name the schema is written where it is used. */
export interface Shape {
  readonly name: string | null;
  readonly schema: Json;
}
export const named = (name: string | null, schema: Json): Shape => ({ name, schema });

/** The members of `value` that the schema has, with times as texts. */
export function shaped(schema: Json, value: unknown): unknown {
  if (schema === moment) return typeof value === 'number' ? iso(value) : value;
  if (typeof value !== 'object' && !Array.isArray(schema.anyOf)) return value;
  const { anyOf, items, properties } = schema as { anyOf?: readonly Json[]; items?: Json; properties?: Json };
  if (anyOf) return value === null ? null : shaped(anyOf[0]!, value);
  if (items && Array.isArray(value)) return value.map((item) => shaped(items, item));
  if (!properties || value === null) return value;
  const members = value as Json;
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => members[name] !== undefined)
      .map(([name, property]) => [name, shaped(property as Json, members[name])]),
  );
}

/** A store may hold a number that is too large for a date. It is capped. */
export const iso = (at: number): string => new Date(Math.min(at, latestMs)).toISOString();
