/**
 * Lambda's recursive loop detection, as AWS describes it. The SDK in a function sends the trace header of the invocation with every
 * request, SQS keeps it with the message, and Lambda counts in its `Lineage` how many invocations led to the next one. The one that would be
 * the 17th is not made, and its messages go to the dead letters.
 */

import type { Message } from '@aws-sdk/client-sqs';
import type { buildApp } from 'fauxqs';

export const longestChain = 16;

/** Number of the invocation that these messages cause; 1 = no other led to it. AWS does not say how it counts several; here the longest counts. */
export const chainOf = (messages: readonly Pick<Message, 'Attributes'>[]): number =>
  1 +
  Math.max(
    0,
    ...messages.map(({ Attributes }) => Number(lineage.exec(Attributes?.AWSTraceHeader ?? '')?.[1] ?? 0)),
  );

const lineage = /(?:^|;)Lineage=\d+:\w+:(\d+)/;

/** The function finds this in `_X_AMZN_TRACE_ID`. */
export const traceHeaderOf = (chain: number): string =>
  `Root=1-00000000-000000000000000000000001;Parent=0000000000000001;Sampled=0;Lineage=1:00000000:${chain}`;

interface Answer {
  readonly MessageId?: string;
  readonly Successful?: readonly { readonly MessageId: string }[];
  readonly Messages?: readonly { readonly MessageId: string; Attributes?: Record<string, string> }[];
}

/** fauxqs 2.4.1 forgets the header; SQS returns it as the attribute AWSTraceHeader. */
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
