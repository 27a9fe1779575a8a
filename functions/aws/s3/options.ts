import type { SdkClient } from '../sdk-client.ts';

/** An `S3Client` of `@aws-sdk/client-s3`. */
export type S3Client = SdkClient;

export interface S3PayloadsOptions {
  readonly bucket: string;
  /** What stands before every key; a lifecycle rule can name it. @default 'longshore/claims/' */
  readonly prefix?: string;
  /** @default one of our own, set up by the usual AWS variables */
  readonly client?: S3Client;
  readonly region?: string;
  /** Instead of AWS; the bucket's name then stands in the path. */
  readonly endpoint?: string;
}
