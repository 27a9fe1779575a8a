import type { StorageOptions } from '../storage/access.ts';

export interface BlobPayloadsOptions extends StorageOptions {
  /** 3 to 63 small letters, digits and hyphens. */
  readonly container: string;
  /** What stands before every key; a lifecycle rule can name it. @default 'longshore/claims/' */
  readonly prefix?: string;
}
