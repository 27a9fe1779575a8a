/** Errors of the SDK as LongshoreErrors, with what to do about them. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { messageOf } from '../sdk-errors.ts';

/** @param during for people: `receiving from queue "mail"` */
export function serviceBusError(during: string, error: unknown): LongshoreError {
  if (error instanceof LongshoreError) return error;
  const message = messageOf(error);
  const code = codeOf(error);
  const failed = `Service Bus failed while ${during}`;
  const explained = (what: string, kind: 'CONFIG' | 'LIMIT' | 'BACKEND' = 'CONFIG') =>
    new LongshoreError(kind, `${failed}: ${what}`, { cause: error });
  switch (code) {
    case 'MessagingEntityNotFound':
      return explained('the queue does not exist in this namespace. Create it, or correct its name.');
    case 'MessagingEntityDisabled':
      return explained('the queue is disabled. Enable it in the portal, or with az servicebus queue update.');
    case 'UnauthorizedAccess':
      return explained(
        `${message} Grant it: sending needs the Send claim (role Azure Service Bus Data Sender), also on the -failed queue; running jobs needs Listen (Azure Service Bus Data Receiver).`,
      );
    case 'MessageSizeExceeded':
      return explained(`${message} Store the data elsewhere and send its id.`, 'LIMIT');
    default:
      if (sessionsMissing.test(message)) {
        return explained(
          'the queue has no sessions, and that cannot be changed. Recreate it with --enable-session true, or leave it out of sessions.',
        );
      }
      if (sessionsWanted.test(message)) {
        return explained(
          'the queue requires sessions. Name it in sessions of serviceBus() and azure(), or recreate it without --enable-session.',
        );
      }
      return explained(`${code ?? toError(error).name}: ${message}`, 'BACKEND');
  }
}

const sessionsMissing = /does not require sessions/i;
const sessionsWanted = /requires? sessions?|session[- ]?(enabled|ful)|SessionRequired|SessionId was not set/i;

export function codeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : null;
}

/** Whether the broker or the SDK reports that this process has lost the lock. */
export const isLockLost = (error: unknown): boolean =>
  codeOf(error) === 'MessageLockLost' ||
  codeOf(error) === 'SessionLockLost' ||
  /already settled/i.test(toError(error).message);

export const sessionLost = (): Error =>
  Object.assign(new Error('The session of this message has been lost.'), { code: 'SessionLockLost' });

export const isMissingQueue = (error: unknown): boolean => codeOf(error) === 'MessagingEntityNotFound';
