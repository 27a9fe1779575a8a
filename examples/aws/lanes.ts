/**
 * Queues of the shop with jobs of different priorities: an invoice does not wait for the nightly report, nor the start of an import
 * for a million rows of another one. serverless.yml has a queue and an event source for each lane.
 */
export const lanes = { default: ['high'], import: ['low'] } as const;
