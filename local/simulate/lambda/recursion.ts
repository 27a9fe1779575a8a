/**
 * Lambda's recursive loop detection, as AWS describes it. The SDK in a function sends the trace header of the invocation with every
 * request, and SQS keeps it with the message. Its `Lineage` counts how many invocations led to the next one. Lambda does not make the
 * 17th invocation, and moves its messages to the dead letters.
 */

import type { Message } from '@aws-sdk/client-sqs';
import type { buildApp } from 'fauxqs';

export const longestChain = 16;

/** Position in its chain of the invocation with these messages; 1 = the first. Takes the longest chain; AWS does not document this. */
export const chainOf = (messages: readonly Pick<Message, 'Attributes'>[]): number =>
  1 +
  Math.max(
    0,
    ...messages.map(({ Attributes }) => Number(lineage.exec(Attributes?.AWSTraceHeader ?? '')?.[1] ?? 0)),
  );

const lineage = /(?:^|;)Lineage=\d+:\w+:(\d+)/;

/** The value of `_X_AMZN_TRACE_ID` for the function. */
export const traceHeaderOf = (chain: number): string =>
  `Root=1-00000000-000000000000000000000001;Parent=0000000000000001;Sampled=0;Lineage=1:00000000:${chain}`;

interface Answer {
  readonly MessageId?: string;
  readonly Successful?: readonly { readonly MessageId: string }[];
  readonly Messages?: readonly { readonly MessageId: string; Attributes?: Record<string, string> }[];
}

/** SQS returns the header as the attribute AWSTraceHeader, which fauxqs 2.4.1 does not. */
export function keepTraceHeaders(app: ReturnType<typeof buildApp>): void {
  const kept = new Map<string, string>();
  app.addHook('onSend', async ({ headers }, _, payload) => {
    const action = String(headers['x-amz-target'] ?? '');
    if (!/SendMessage|ReceiveMessage/.test(action) || typeof payload !== 'string') return payload;
    const answer = JSON.parse(payload) as Answer;
    const trace = headers['x-amzn-trace-id'];
    if (typeof trace === 'string') {
      for (const { MessageId } of [answer as { MessageId?: string }, ...(answer.Successful ?? [])])
        if (MessageId) kept.set(MessageId, trace);
    }
    for (const message of answer.Messages ?? []) {
      const header = kept.get(message.MessageId);
      if (header) message.Attributes = { ...message.Attributes, AWSTraceHeader: header };
    }
    return answer.Messages ? JSON.stringify(answer) : payload;
  });
}
