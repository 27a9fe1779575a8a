/**
 * A Functions host in this process. It loads an app and calls its functions like triggers do, through the conversions of the real
 * `@azure/functions`.
 */

import { createRequire, Module } from 'node:module';

interface LogLine {
  readonly level: string;
  readonly text: string;
}

export type FunctionsHost = ReturnType<typeof hostOf>;
type Metadata = Readonly<Record<string, TypedData>>;

/**
 * @param load registers functions like the app's main file, or imports that file
 * @param onLog also gets every log line of a call
 */
export const startFunctions = async (
  load: () => unknown,
  onLog: (line: LogLine) => void = () => {},
): Promise<FunctionsHost> => hostOf(await registered(load), onLog);

function hostOf({ functions, hooks }: Registry, onLog: (line: LogLine) => void) {
  const logs: LogLine[] = [];
  let invocations = 0;

  const find = (name: string): Registered => {
    const found = functions.find((one) => one.name === name);
    if (found) return found;
    const names = functions.map((one) => one.name).join(', ');
    throw new Error(`Expected one of the functions ${names}, got "${name}".`);
  };
  async function call(one: Registered, data: TypedData, metadata: Metadata) {
    const invocationId = `invocation-${++invocations}`;
    const model = programmingModel().getInvocationModel({
      invocationId,
      metadata: { name: one.name, bindings: one.bindings },
      request: {
        invocationId,
        inputData: [{ name: triggerOf(one)[0], data }],
        triggerMetadata: metadata,
        traceContext: null,
        retryContext: null,
      },
      log(level: string, _category: string, text: string) {
        logs.push({ level, text });
        onLog({ level, text });
      },
    });
    const { context, inputs } = await model.getArguments();
    const result = await model.invokeFunction(context, inputs, one.callback);
    return (await model.getResponse(context, result)).returnValue;
  }

  return {
    functions,
    logs,
    /** Rejects with the error of the function. */
    invoke: (name: string, trigger: TypedData, metadata: Metadata = {}) =>
      call(find(name), trigger, metadata),
    /** Calls a function like the timer trigger. */
    async tick(name: string): Promise<void> {
      const timer = { Schedule: { AdjustForDST: true }, ScheduleStatus: null, IsPastDue: false };
      await call(find(name), { json: JSON.stringify(timer) }, {});
    },
    async fetch(url: string, init: RequestInit = {}): Promise<Response> {
      const request = new Request(url, init);
      const one = functions.find((candidate) => triggerOf(candidate)[1].type === 'httpTrigger');
      if (!one) return new Response(null, { status: 404 });
      const bytes = new Uint8Array(await request.arrayBuffer());
      const http = {
        url,
        method: request.method,
        headers: Object.fromEntries(request.headers),
        ...(bytes.length > 0 && { body: { bytes } }),
      };
      const answer = (await call(one, { http }, {})) as { http: HttpAnswer };
      const { statusCode, headers, body } = answer.http;
      const status = Number(statusCode);
      return new Response(status === 204 ? null : Buffer.from(body?.bytes ?? []), { status, headers });
    },
    /** Runs the hooks of a stop, and waits for them. */
    async terminate(): Promise<void> {
      for (const hook of hooks.get('appTerminate') ?? []) await hook({ hookData: {}, appHookData: {} });
    },
  };
}

export const triggerOf = ({ bindings }: Registered): [name: string, binding: Binding] =>
  Object.entries(bindings).find(([, { type }]) => type.endsWith('Trigger'))!;

interface HttpAnswer {
  readonly statusCode: string;
  readonly headers: Record<string, string>;
  readonly body?: { readonly bytes?: Uint8Array };
}

/** A value in the protocol between host and worker. */
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

interface Invocation {
  readonly context: unknown;
  readonly inputs: unknown[];
}

/** The part of `@azure/functions` that calls functions. */
interface ProgrammingModel {
  getInvocationModel(core: object): {
    getArguments(): Promise<Invocation>;
    invokeFunction(context: unknown, inputs: unknown[], callback: Registered['callback']): Promise<unknown>;
    getResponse(context: unknown, result: unknown): Promise<{ readonly returnValue?: TypedData | null }>;
  };
}

interface Registry {
  readonly functions: Registered[];
  readonly hooks: Map<string, ((context: object) => unknown)[]>;
}

/**
 * The module `@azure/functions-core`, which only the Functions host provides: `@azure/functions` registers its functions here, and calls go
 * through its own conversions.
 */
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
    throw new Error('A function was registered after the app was loaded. Register it while the app loads.');
  return current;
}

let installed = false;

/** Call it before the first use of `@azure/functions`, which looks for the module once. */
function install(): void {
  if (installed) return;
  installed = true;
  const { prototype } = Module as unknown as { prototype: { require: (id: string) => unknown } };
  const { require: original } = prototype;
  prototype.require = function (id) {
    return id === '@azure/functions-core' ? core : original.call(this, id);
  };
}

/** Runs `load`, which may import a main file, and returns the functions that it registered. Only one call at a time. */
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

function programmingModel(): ProgrammingModel {
  install();
  if (!model) createRequire(import.meta.url)('@azure/functions');
  if (!model) throw new Error('No function is registered. Register one before the first call.');
  return model;
}
