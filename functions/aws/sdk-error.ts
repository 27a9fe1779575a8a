/** Errors of the AWS SDK as LongshoreErrors, with what to do about them. */

import { LongshoreError } from '../../core/base/errors.ts';
import { toError } from '../../core/base/failure.ts';

/** How to fix the configuration, by the names of the SDK's errors. */
export type Remedies = Readonly<Record<string, string>>;

const credentials = 'Check the credentials.';
const always: Remedies = {
  UnrecognizedClientException: credentials,
  InvalidAccessKeyId: credentials,
  InvalidClientTokenId: credentials,
  ExpiredToken: credentials,
  ExpiredTokenException: credentials,
  SignatureDoesNotMatch: credentials,
  // It has no name of its own.
  'Region is missing': 'Give the region option, or set AWS_REGION.',
  CredentialsProviderError: 'Give the process credentials: a role, a profile or AWS_ACCESS_KEY_ID.',
};

/** @param failed for people: `S3 failed while fetching a payload (bucket jobs)` */
export function sdkError(failed: string, cause: unknown, remedies: Remedies): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const { name, message, code = '' } = toError(cause) as NodeJS.ErrnoException;
  const remedy = remedies[name] ?? remedies[code] ?? always[name] ?? always[message];
  const text = `${failed}: ${message || name}`;
  const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
  if (remedy === undefined) return new LongshoreError('BACKEND', sentence, { cause });
  return new LongshoreError('CONFIG', `${sentence} ${remedy}`, { cause });
}
