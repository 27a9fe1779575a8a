/** Lambda on this machine: AWS's own runtime client in a process of its own, and the Runtime API it talks to. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

export interface RuntimeOptions {
  /** Where the bundle is. */
  readonly folder: string;
  /** `file.export` */
  readonly handler: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface Runtime {
  /** Rejects with what the function has thrown; when it has no answer in time, its process is killed, as Lambda does. */
  invoke(event: unknown, timeoutMs: number): Promise<unknown>;
  /** What the function has printed, by line. */
  readonly output: string[];
  /** Processes started so far. */
  readonly starts: () => number;
  stop(): Promise<void>;
}

interface Call {
  readonly id: string;
  readonly body: string;
  readonly deadlineAt: number;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export async function startRuntime({ folder, handler, env }: RuntimeOptions): Promise<Runtime> {
  const queue: Call[] = [];
  const underWay = new Map<string, Call>();
  const output: string[] = [];
  let asking: ServerResponse | null = null;
  let child: ChildProcess | null = null;
  let calls = 0;
  let starts = 0;

  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, , , kind = '', id = '', end = ''] = (request.url ?? '').split('/');
    let body = '';
    for await (const chunk of request) body += chunk;
    if (kind === 'invocation' && id === 'next') {
      asking = response;
      return hand();
    }
    response.writeHead(202).end('{}');
    const call = underWay.get(id) ?? queue.shift();
    if (!call) return;
    underWay.delete(call.id);
    if (end === 'response') return call.resolve(body === '' ? null : JSON.parse(body));
    const { errorType, errorMessage } = JSON.parse(body) as { errorType: string; errorMessage: string };
    call.reject(new Error(`${errorType}: ${errorMessage}`));
  }

  function hand(): void {
    if (!asking || queue.length === 0) return;
    const call = queue.shift()!;
    underWay.set(call.id, call);
    asking.writeHead(200, {
      'lambda-runtime-aws-request-id': call.id,
      'lambda-runtime-deadline-ms': String(call.deadlineAt),
      'lambda-runtime-invoked-function-arn': 'arn:aws:lambda:eu-central-1:000000000000:function:test',
    });
    asking.end(call.body);
    asking = null;
  }

  function start(): void {
    starts++;
    const root = fileURLToPath(import.meta.resolve('aws-lambda-ric'));
    child = spawn(
      process.execPath,
      ['--import', new URL('native-client.mjs', import.meta.url).href, root, handler],
      {
        env: {
          PATH: process.env.PATH,
          AWS_LAMBDA_RUNTIME_API: api,
          _HANDLER: handler,
          LAMBDA_TASK_ROOT: folder,
          AWS_LAMBDA_FUNCTION_NAME: 'test',
          AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
          AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
          AWS_LAMBDA_LOG_GROUP_NAME: '/aws/lambda/test',
          AWS_LAMBDA_LOG_STREAM_NAME: 'test',
          ...env,
        },
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [child.stdout!, child.stderr!]) {
      stream
        .setEncoding('utf8')
        .on('data', (text: string) => output.push(...text.split('\n').filter(Boolean)));
    }
    const mine = child;
    child.once('exit', (code, signal) => {
      if (child === mine) child = null;
      for (const call of underWay.values()) {
        call.reject(new Error(`Runtime exited: ${signal ?? code}`));
      }
      underWay.clear();
    });
  }

  async function kill(): Promise<void> {
    const dying = child;
    child = null;
    asking = null;
    if (!dying || dying.exitCode !== null) return;
    const exited = once(dying, 'exit');
    dying.kill('SIGKILL');
    await exited;
  }

  return {
    output,
    starts: () => starts,
    invoke(event, timeoutMs) {
      if (!child) start();
      return new Promise((resolve, reject) => {
        const id = `00000000-0000-0000-0000-${String(++calls).padStart(12, '0')}`;
        const timer = setTimeout(() => void kill(), timeoutMs);
        const ended =
          <T>(end: (value: T) => void) =>
          (value: T) => {
            clearTimeout(timer);
            end(value);
          };
        const body = JSON.stringify(event);
        queue.push({
          id,
          body,
          deadlineAt: Date.now() + timeoutMs,
          resolve: ended(resolve),
          reject: ended(reject),
        });
        hand();
      });
    },
    async stop() {
      await kill();
      server.closeAllConnections();
      server.close();
    },
  };
}
