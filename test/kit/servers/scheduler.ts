/**
 * Stands in for EventBridge Scheduler, of which there is none that runs on one's own machine: answers the requests of its REST API
 * that the real SDK makes, checks what AWS checks, and makes the request of a due schedule with the client it was given. Time is the
 * test's: nothing fires by itself.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SendMessageCommand, type SendMessageCommandInput, type SQSClient } from '@aws-sdk/client-sqs';

interface Body {
  readonly ActionAfterCompletion?: string;
  readonly ClientToken?: string;
  readonly FlexibleTimeWindow?: { readonly Mode?: string };
  readonly GroupName?: string;
  readonly ScheduleExpression?: string;
  readonly ScheduleExpressionTimezone?: string;
  readonly Target?: {
    readonly Arn?: string;
    readonly RoleArn?: string;
    readonly Input?: string;
    readonly DeadLetterConfig?: { readonly Arn?: string };
  };
}

interface Kept {
  readonly name: string;
  readonly body: Body;
  readonly at: number;
}

export interface SchedulerServer {
  readonly url: string;
  readonly group: string;
  /** Those that are still to come, by time. */
  schedules(): readonly { readonly name: string; readonly at: number; readonly body: Body }[];
  /** Requests so far. */
  requests(): number;
  /** Sends what is due; returns how many. Such a schedule is gone, or done for good when nobody asked for its removal. */
  fire(now: number): Promise<number>;
  /** Gives up what is due, as EventBridge does after a day: into the dead-letter queue. */
  giveUp(now: number, deadLetterUrl: string): Promise<void>;
  /** The next requests are answered with this error. `null` = no more. */
  failWith(error: { readonly status: number; readonly type: string } | null): void;
  stop(): Promise<void>;
}

const mostInputBytes = 262_144;

export async function startScheduler(sqs: SQSClient, group = 'default'): Promise<SchedulerServer> {
  const kept = new Map<string, Kept>();
  let failure: { readonly status: number; readonly type: string } | null = null;
  let requests = 0;
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests++;
    let text = '';
    for await (const chunk of request) text += chunk;
    const refuse = (status: number, type: string, message: string) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': type })
        .end(JSON.stringify({ Message: message }));
    if (failure) return void refuse(failure.status, failure.type, 'as the test asked');
    const name = /^\/schedules\/([0-9a-zA-Z_.-]{1,64})$/.exec(request.url ?? '')?.[1];
    if (request.method !== 'POST' || !name) return void refuse(400, 'ValidationException', 'no such request');
    const body = JSON.parse(text) as Body;
    const problem = problemOf(body);
    if (problem) return void refuse(400, 'ValidationException', problem);
    if (body.GroupName !== group) return void refuse(404, 'ResourceNotFoundException', 'no such group');
    const known = kept.get(name);
    if (known && known.body.ClientToken !== body.ClientToken) {
      return void refuse(409, 'ConflictException', `Schedule ${name} already exists.`);
    }
    const at = Date.parse(`${/^at\((.*)\)$/.exec(body.ScheduleExpression!)![1]}Z`);
    if (!known) kept.set(name, { name, body, at });
    const ScheduleArn = `arn:aws:scheduler:eu-central-1:000000000000:schedule/${group}/${name}`;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ScheduleArn }));
  }

  const due = (now: number) => [...kept.values()].filter(({ at }) => at <= now);

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    group,
    schedules: () => [...kept.values()].sort((a, b) => a.at - b.at),
    requests: () => requests,
    async fire(now) {
      const ready = due(now);
      for (const { name, body } of ready) {
        const input = body.Target!.Input!.replaceAll(/<aws\.scheduler\.[a-z-]+>/g, 'a value of EventBridge');
        await sqs.send(new SendMessageCommand(JSON.parse(input) as SendMessageCommandInput));
        if (body.ActionAfterCompletion === 'DELETE') kept.delete(name);
        else throw new Error(`Expected ${name} to delete itself.`);
      }
      return ready.length;
    },
    async giveUp(now, deadLetterUrl) {
      for (const { name, body } of due(now)) {
        const arn = body.Target!.DeadLetterConfig!.Arn!;
        if (arn.split(':').at(-1) !== deadLetterUrl.split('/').at(-1)) throw new Error(`Unexpected ${arn}.`);
        const MessageAttributes = {
          ERROR_CODE: { DataType: 'String', StringValue: 'AWS.SimpleQueueService.NonExistentQueue' },
        };
        const MessageBody = body.Target!.Input;
        await sqs.send(new SendMessageCommand({ QueueUrl: deadLetterUrl, MessageBody, MessageAttributes }));
        kept.delete(name);
      }
    },
    failWith(error) {
      failure = error;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What AWS would not take. */
function problemOf({ FlexibleTimeWindow, ScheduleExpression, Target, ...body }: Body): string | null {
  if (!/^at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)$/.test(ScheduleExpression ?? '')) return 'ScheduleExpression';
  if (FlexibleTimeWindow?.Mode !== 'OFF') return 'FlexibleTimeWindow';
  if (body.ScheduleExpressionTimezone !== 'UTC') return 'ScheduleExpressionTimezone';
  if (!/^[a-zA-Z0-9-_]{1,64}$/.test(body.ClientToken ?? '-')) return 'ClientToken';
  const [, partition] = /^arn:([a-z-]+):iam::\d{12}:role\//.exec(Target?.RoleArn ?? '') ?? [];
  if (partition === undefined) return 'Target.RoleArn';
  if (Target?.Arn !== `arn:${partition}:scheduler:::aws-sdk:sqs:sendMessage`) return 'Target.Arn';
  if (!/^arn:aws:sqs:/.test(Target.DeadLetterConfig?.Arn ?? '')) return 'DeadLetterConfig';
  if (Buffer.byteLength(Target.Input ?? '') > mostInputBytes) return 'Target.Input is too long';
  const { MessageBody, QueueUrl } = JSON.parse(Target.Input ?? '{}') as SendMessageCommandInput;
  return MessageBody && QueueUrl ? null : 'Target.Input is no request to SQS';
}
