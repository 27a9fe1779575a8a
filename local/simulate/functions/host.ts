/**
 * A Functions host in this process: it loads an app and calls its functions as triggers would, through the conversions of the real
 * `@azure/functions`.
 */

import {
  type Binding,
  programmingModel,
  type Registered,
  type Registry,
  registered,
  type TypedData,
} from './core-module.ts';

export interface LogLine {
  readonly level: string;
  readonly text: string;
}

export type FunctionsHost = ReturnType<typeof hostOf>;
type Metadata = Readonly<Record<string, TypedData>>;

/**
 * @param load registers functions, as the app's main file does, or imports that file
 * @param onLog gets every line of a call's log too
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
    /** Rejects with what the function has thrown. */
    invoke: (name: string, trigger: TypedData, metadata: Metadata = {}) =>
      call(find(name), trigger, metadata),
    /** What the timer trigger sends. */
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
    /** The host stops this instance, and waits. */
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
