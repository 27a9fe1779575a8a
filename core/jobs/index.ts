/** `longshore/jobs`: the two oldest kinds of job, ready made. Apart from `longshore`, because they load node:http. */

export { type CommandJobDefinition, type CommandResult, commandJob } from './command.ts';
export type { CommandPayload } from './command-payload.ts';
export { type UrlJobDefinition, type UrlResult, urlJob } from './url.ts';
export type { UrlPayload } from './url-payload.ts';
export { type VerifyWebhook, verifyWebhook } from './webhook-signature.ts';
