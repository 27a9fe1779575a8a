/**
 * The module `@azure/functions-core`, which only the Functions host provides. With it `@azure/functions` runs as in the host: it
 * registers its functions here, and calls go through its own conversions.
 */

import { createRequire, Module } from 'node:module';

/** A value on its way between host and worker. */
export interface TypedData {
  readonly string?: string;
  readonly json?: string;
  readonly bytes?: Uint8Array;
  readonly int?: number;
  readonly http?: object;
}

export interface Binding extends Readonly<Record<string, unknown>> {
  readonly type: string;
  readonly direction: 'in' | 'out';
}

export interface Registered {
  readonly name: string;
  readonly bindings: Readonly<Record<string, Binding>>;
  readonly callback: (...inputs: unknown[]) => unknown;
}

export interface Invocation {
  readonly context: unknown;
  readonly inputs: unknown[];
}

/** As `@azure/functions` implements it. */
export interface ProgrammingModel {
  getInvocationModel(core: object): {
    getArguments(): Promise<Invocation>;
    invokeFunction(context: unknown, inputs: unknown[], callback: Registered['callback']): Promise<unknown>;
    getResponse(context: unknown, result: unknown): Promise<{ readonly returnValue?: TypedData | null }>;
  };
}

export interface Registry {
  readonly functions: Registered[];
  readonly hooks: Map<string, ((context: object) => unknown)[]>;
}

let model: ProgrammingModel | null = null;
let current: Registry | null = null;

const core = {
  version: '4.0.0',
  hostVersion: '4.1040.0',
  Disposable: class {
    dispose(): void {}
  },
  log(): void {},
  setProgrammingModel(given: ProgrammingModel): void {
    model = given;
  },
  getProgrammingModel: () => model,
  registerFunction(metadata: Omit<Registered, 'callback'>, callback: Registered['callback']): object {
    registry().functions.push({ ...metadata, callback });
    return new core.Disposable();
  },
  registerHook(name: string, callback: (context: object) => unknown): object {
    const { hooks } = registry();
    hooks.set(name, [...(hooks.get(name) ?? []), callback]);
    return new core.Disposable();
  },
};

function registry(): Registry {
  if (!current)
    throw new Error('Expected functions to be registered while an app is loaded, got one afterwards.');
  return current;
}

let installed = false;

/** Before the first call of `@azure/functions`: it looks for the module once. */
function install(): void {
  if (installed) return;
  installed = true;
  const { prototype } = Module as unknown as { prototype: { require: (id: string) => unknown } };
  const { require: original } = prototype;
  prototype.require = function (id) {
    return id === '@azure/functions-core' ? core : original.call(this, id);
  };
}

/** Runs `load`, which may import a main file, and returns the functions that it has registered. One at a time. */
export async function registered(load: () => unknown): Promise<Registry> {
  install();
  const mine: Registry = { functions: [], hooks: new Map() };
  current = mine;
  try {
    await load();
    return mine;
  } finally {
    current = null;
  }
}

export function programmingModel(): ProgrammingModel {
  install();
  if (!model) createRequire(import.meta.url)('@azure/functions');
  if (!model) throw new Error('Expected a function to be registered before one is called, got none.');
  return model;
}
