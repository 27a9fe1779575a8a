/** Errors of the SDK as LongshoreErrors, with what to do about them. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import type { Failure } from './batches.ts';

/** What an error of the SDK means, by its name, and what to do about it. */
const remedies: readonly (readonly [names: RegExp, text: (message: string) => string])[] = [
  [/QueueDoesNotExist|NonExistentQueue/, () => 'the queue does not exist. Create it, or correct its URL.'],
  [
    /AccessDenied|InvalidClientTokenId|SignatureDoesNotMatch|ExpiredToken|UnrecognizedClient/,
    (message) =>
      `${message} Grant it: sending needs sqs:SendMessage, also on the dead-letter queue; running jobs needs sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and sqs:GetQueueAttributes.`,
  ],
  [
    /CredentialsProviderError/,
    () =>
      'no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the process a role.',
  ],
];

/** @param during for people: `receiving from queue "mail"` */
export function sqsError(during: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const { name, message } = toError(cause);
  const failed = `SQS failed while ${during}`;
  const remedy = remedies.find(([names]) => names.test(name))?.[1];
  if (remedy) return new LongshoreError('CONFIG', `${failed}: ${remedy(message)}`, { cause });
  return new LongshoreError('BACKEND', `${failed}: ${name}: ${message}`, { cause });
}

export function failedEntry(during: string, { code, message }: Failure): LongshoreError {
  return new LongshoreError('BACKEND', `SQS failed while ${during}: ${code}: ${message}`);
}
