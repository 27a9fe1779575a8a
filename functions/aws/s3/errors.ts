/** Errors of the SDK as LongshoreErrors, with what to do about them. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';

/** By the names of the SDK's errors: how to fix the configuration. */
const remedies: Readonly<Record<string, string>> = {
  NoSuchBucket: 'Create the bucket, or correct its name.',
  // Without the permission to list, S3 answers this for a missing object too.
  AccessDenied:
    'Allow s3:GetObject, s3:PutObject and s3:DeleteObject on its objects, and s3:ListBucket on itself.',
  InvalidAccessKeyId: 'Check the credentials.',
  SignatureDoesNotMatch: 'Check the credentials.',
  CredentialsProviderError: 'Give the process credentials: a role, a profile or AWS_ACCESS_KEY_ID.',
  ERR_MODULE_NOT_FOUND: 'Install @aws-sdk/client-s3.',
};

export function s3Error(during: string, bucket: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const { name, message, code } = toError(cause) as NodeJS.ErrnoException;
  const remedy = remedies[name] ?? remedies[code ?? ''];
  const text = `S3 failed while ${during} (bucket ${bucket}): ${message || name}`;
  const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
  if (remedy === undefined) return new LongshoreError('BACKEND', sentence, { cause });
  return new LongshoreError('CONFIG', `${sentence} ${remedy}`, { cause });
}
