/** Errors of the SDK as LongshoreErrors, with what to do about them. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import type { Failure } from './batches.ts';

const missingQueue = /QueueDoesNotExist|NonExistentQueue/;
const refused = /AccessDenied|InvalidClientTokenId|SignatureDoesNotMatch|ExpiredToken|UnrecognizedClient/;
const noCredentials = /CredentialsProviderError/;

/** @param during for people: `receiving from queue "mail"` */
export function sqsError(during: string, error: unknown): LongshoreError {
  if (error instanceof LongshoreError) return error;
  const { name, message } = toError(error);
  const failed = `SQS failed while ${during}`;
  if (missingQueue.test(name)) {
    return new LongshoreError(
      'CONFIG',
      `${failed}: the queue does not exist. Create it, or correct its URL.`,
      {
        cause: error,
      },
    );
  }
  if (refused.test(name)) {
    return new LongshoreError(
      'CONFIG',
      `${failed}: ${message} Grant it: sending needs sqs:SendMessage, also on the dead-letter queue; running jobs needs sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and sqs:GetQueueAttributes.`,
      { cause: error },
    );
  }
  if (noCredentials.test(name)) {
    return new LongshoreError(
      'CONFIG',
      `${failed}: no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the process a role.`,
      { cause: error },
    );
  }
  return new LongshoreError('BACKEND', `${failed}: ${name}: ${message}`, { cause: error });
}

export function failedEntry(during: string, { code, message }: Failure): LongshoreError {
  return new LongshoreError('BACKEND', `SQS failed while ${during}: ${code}: ${message}`);
}
