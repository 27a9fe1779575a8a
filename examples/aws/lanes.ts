/**
 * Queues of the shop in which jobs of different urgency meet: an invoice does not wait for the nightly report, nor the start of an
 * import for a million rows of another one. serverless.yml has a queue and an event source for each.
 */
export const lanes = { default: ['high'], import: ['low'] } as const;
