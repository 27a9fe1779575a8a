/** Lambda on this machine: AWS's own runtime client in a child process, and the Runtime API that it calls. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface RuntimeOptions {
  /** Folder of the bundle. */
  readonly folder: string;
  /** `file.export` */
  readonly handler: string;
  /** Environment variables of the function, in addition to those that Lambda sets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with each printed line. Lines of a failed start are in the `cause` of the InitError instead. */
  onLine?(line: string): void;
  /** Timeout of the first start. After it Lambda starts again, within the time of the invocation. @default 10_000 */
  readonly initMs?: number;
}

/** One environment. It runs one invocation at a time; others wait. */
export type Runtime = Awaited<ReturnType<typeof startRuntime>>;

/** The function does not start, so no event can be handled. */
export class InitError extends Error {
  override readonly name = 'InitError';
}

interface Call {
  readonly id: string;
  readonly body: string;
  readonly deadlineAt: number;
  readonly traceHeader: string | undefined;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const linesKept = 1_000;
const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const nativeClient = new URL(`native-client.${ending}`, import.meta.url).href;

export async function startRuntime(options: RuntimeOptions) {
  const { folder, handler, env, onLine, initMs = 10_000 } = options;
  const queue: Call[] = [];
  const output: string[] = [];
  let current: Call | null = null;
  let waiting: ServerResponse | null = null;
  let child: ChildProcess | null = null;
  let calls = 0;
  let starts = 0;
  /** Lines that a process printed before it asked for its first event. */
  let early: string[] | null = null;
  let onReady: PromiseWithResolvers<boolean> | null = null;
  let firstStart: Promise<boolean> | null = null;
  let stopped = false;

  const server = createServer((request, response) => void answer(request, response));
  // A handler that never ends would outlive this process.
  const killNow = (): void => void child?.kill('SIGKILL');
  process.on('exit', killNow);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, , , kind = '', id = '', end = ''] = (request.url ?? '').split('/');
    let body = '';
    for await (const chunk of request) body += chunk;
    if (kind === 'invocation' && id === 'next') {
      waiting = response;
      for (const line of early ?? []) onLine?.(line);
      early = null;
      onReady?.resolve(true);
      return sendNext();
    }
    response.writeHead(202).end('{}');
    if (end === 'response' && current?.id === id) {
      return ended((call) => call.resolve(body === '' ? null : JSON.parse(body)));
    }
    const { errorType, errorMessage } = JSON.parse(body) as { errorType: string; errorMessage: string };
    const text = `${errorType}: ${errorMessage}`;
    if (kind === 'init') notStarted(text);
    else if (current?.id === id) ended((call) => call.reject(new Error(text)));
  }

  function notStarted(text: string): void {
    const error = new InitError(text, { cause: new Error((early ?? []).join('\n')) });
    onReady?.reject(error);
    ended((call) => call.reject(error));
  }

  /** Answers the running call, or the call whose start failed. */
  function ended(answer: (call: Call) => void): void {
    const call = current ?? queue.shift();
    current = null;
    if (call) answer(call);
  }

  function sendNext(): void {
    if (!waiting || current || queue.length === 0) return;
    current = queue.shift()!;
    waiting.writeHead(200, {
      'lambda-runtime-aws-request-id': current.id,
      'lambda-runtime-deadline-ms': String(current.deadlineAt),
      'lambda-runtime-invoked-function-arn': 'arn:aws:lambda:eu-central-1:000000000000:function:local',
      ...(current.traceHeader !== undefined && { 'lambda-runtime-trace-id': current.traceHeader }),
    });
    waiting.end(current.body);
    waiting = null;
  }

  function start(): void {
    starts++;
    early = [];
    const client = fileURLToPath(import.meta.resolve('aws-lambda-ric'));
    const flags = ['--enable-source-maps', '--disable-warning=ExperimentalWarning', '--import', nativeClient];
    const mine = spawn(process.execPath, [...flags, client, handler], {
      env: {
        ...env,
        AWS_LAMBDA_RUNTIME_API: api,
        _HANDLER: handler,
        LAMBDA_TASK_ROOT: folder,
        AWS_LAMBDA_FUNCTION_NAME: 'local',
        AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '512',
        AWS_LAMBDA_LOG_GROUP_NAME: '/aws/lambda/local',
        AWS_LAMBDA_LOG_STREAM_NAME: 'local',
      },
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a Ctrl-C on the terminal must not reach the function
    });
    child = mine;
    for (const input of [mine.stdout!, mine.stderr!]) {
      createInterface({ input }).on('line', (line) => {
        if (line === '') return;
        output.push(line);
        if (output.length > linesKept) output.shift();
        if (early) early.push(line);
        else onLine?.(line);
      });
    }
    mine.once('error', (error) => notStarted(error.message));
    mine.once('exit', (code, signal) => {
      if (child !== mine) return;
      child = null;
      waiting = null;
      if (early) notStarted(`Runtime exited: ${signal ?? `code ${code}`}`);
      else ended((call) => call.reject(new Error(`Runtime exited: ${signal ?? `code ${code}`}`)));
      if (queue.length > 0) start();
    });
  }

  async function kill(): Promise<void> {
    const dying = child;
    child = null;
    waiting = null;
    if (!dying || dying.exitCode !== null || dying.signalCode !== null) return;
    const exited = once(dying, 'exit');
    dying.kill('SIGKILL');
    await exited;
  }

  async function timeOut(call: Call, timeoutMs: number): Promise<void> {
    if (current === call) current = null;
    else queue.splice(queue.indexOf(call), 1);
    await kill();
    call.reject(new Error(`Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`));
    if (queue.length > 0) start();
  }

  /** Resolves with `false` if the first start takes longer than `initMs`. */
  async function init(): Promise<boolean> {
    const ready = Promise.withResolvers<boolean>();
    onReady = ready;
    const timer = setTimeout(() => void kill().then(() => ready.resolve(false)), initMs);
    start();
    return ready.promise.finally(() => clearTimeout(timer));
  }
  const started = (): Promise<boolean> => (firstStart ??= init());

  return {
    /** The last printed lines. */
    output,
    /** Number of processes started so far. */
    starts: () => starts,
    /** Starts the function without an event. Rejects with an InitError if it does not load in time. */
    async ready(): Promise<void> {
      if (!(await started())) throw new InitError(`Init timed out after ${initMs / 1000} seconds`);
    },
    /**
     * Rejects with the error of the function. If it does not answer in time, its process is killed, as in Lambda. The time includes a
     * start after a kill, but not the first start (AWS, "Lambda execution environment lifecycle").
     */
    async invoke(event: unknown, timeoutMs: number, traceHeader?: string): Promise<unknown> {
      await started();
      if (stopped) throw new Error('Runtime stopped');
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const call: Call = {
        id: `00000000-0000-4000-8000-${String(++calls).padStart(12, '0')}`,
        body: JSON.stringify(event),
        deadlineAt: Date.now() + timeoutMs,
        traceHeader,
        resolve,
        reject,
      };
      const timer = setTimeout(() => void timeOut(call, timeoutMs), timeoutMs);
      queue.push(call);
      if (!child) start();
      sendNext();
      return promise.finally(() => clearTimeout(timer));
    },
    async stop(): Promise<void> {
      stopped = true;
      process.off('exit', killNow);
      await kill();
      const error = new Error('Runtime stopped');
      onReady?.reject(error);
      ended((call) => call.reject(error));
      server.closeAllConnections();
      server.close();
    },
  };
}
