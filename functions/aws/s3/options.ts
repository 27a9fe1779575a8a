/** An `S3Client`. Described by its shape, so that a program without its types compiles. */
export interface S3Client {
  send(command: never): Promise<unknown>;
}

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
