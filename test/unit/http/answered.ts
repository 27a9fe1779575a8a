/** What a handler has answered, read to its end, and what no answer may show. */

import { expect } from 'vitest';

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  readonly body: any;
}

/** `body` is `null` unless it is JSON. */
export async function answered(response: Response): Promise<Answered> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = /[/+]json$/.test(headers.get('content-type') ?? '') && text !== '';
  return { status, headers, text, body: isJson ? JSON.parse(text) : null };
}

export function expectClosed({ headers, text }: Answered): void {
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  expect(text).not.toMatch(/\n\s+at |node:internal|\.ts:\d/);
}
