import type { LongshoreError } from '../../../core/base/errors.ts';
import { type Remedies, sdkError } from '../sdk-error.ts';

const remedies: Remedies = {
  NoSuchBucket: 'Create the bucket, or correct its name.',
  // Without the permission to list, S3 answers this for a missing object too.
  AccessDenied:
    'Allow s3:GetObject, s3:PutObject and s3:DeleteObject on its objects, and s3:ListBucket on itself.',
};

export const s3Error = (during: string, bucket: string, cause: unknown): LongshoreError =>
  sdkError(`S3 failed while ${during} (bucket ${bucket})`, cause, remedies);
