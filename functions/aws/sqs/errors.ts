/** Errors of the SDK as LongshoreErrors, with what to do about them. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { type Remedies, sdkError } from '../sdk-error.ts';
import type { Failure } from './batches.ts';

const create = 'Create it, or correct its URL.';
const grant =
  'Grant it: sending needs sqs:SendMessage, also on the dead-letter queue; running jobs needs sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and sqs:GetQueueAttributes.';
const remedies: Remedies = {
  QueueDoesNotExist: create,
  'AWS.SimpleQueueService.NonExistentQueue': create,
  AccessDenied: grant,
  AccessDeniedException: grant,
};

/** @param during for people: `receiving from queue "mail"` */
export const sqsError = (during: string, cause: unknown): LongshoreError =>
  sdkError(`SQS failed while ${during}`, cause, remedies);

export function failedEntry(during: string, { code, message }: Failure): LongshoreError {
  return new LongshoreError('BACKEND', `SQS failed while ${during}: ${code}: ${message}`);
}
