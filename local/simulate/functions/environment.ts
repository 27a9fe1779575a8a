/** Settings of a function app are the environment of its process, which here is this one. */

import { format } from 'node:util';

type Values = Readonly<Record<string, string | undefined>>;

/** Sets these variables; `undefined` removes one. Returns how to restore them. */
export function setEnvironment(values: Values): () => void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  assign(Object.entries(values));
  return () => assign(before);
}

function assign(entries: readonly (readonly [name: string, value: string | undefined])[]): void {
  for (const [name, value] of entries) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

const methods = ['log', 'info', 'debug', 'warn', 'error'] as const;

/** Sends what a function app writes with `console` to the host's log. Returns how to end that. */
export function captureConsole(onLine: (line: string) => void): () => void {
  // biome-ignore-start lint/suspicious/noConsole: that is what it is about
  const before = methods.map((name) => [name, console[name]] as const);
  for (const name of methods)
    console[name] = (...parts: unknown[]) => {
      for (const line of format(...parts).split('\n')) onLine(line);
    };
  return () => {
    for (const [name, method] of before) console[name] = method;
  };
  // biome-ignore-end lint/suspicious/noConsole: that is what it was about
}
