import { toError } from './failure.ts';

/** For failures of webhooks and heartbeats: whoever knows the URL of one can call it. */
export const messageWithoutUrls = (error: unknown): string =>
  toError(error).message.replaceAll(/\w+:\/\/\S+/g, '[URL]');
