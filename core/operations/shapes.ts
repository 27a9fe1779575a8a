/** JSON schemas of what operations answer, for the OpenAPI document and for the answers themselves. */

import { latestMs } from '../base/clock.ts';

export type Json = Readonly<Record<string, unknown>>;

export const text = { type: 'string' };
export const count = { type: 'integer', minimum: 0 };
/** Epoch ms inside, RFC 3339 in an answer. */
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

/** A schema with the name that the OpenAPI document gives it; without a name it is written where it is used. */
export interface Shape {
  readonly name: string | null;
  readonly schema: Json;
}
export const named = (name: string | null, schema: Json): Shape => ({ name, schema });

/** The members of `value` that the schema names, with its moments as texts. */
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

/** A record may say more than a date can: a store holds any number. */
export const iso = (at: number): string => new Date(Math.min(at, latestMs)).toISOString();
