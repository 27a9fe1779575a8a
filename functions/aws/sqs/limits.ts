/** SQS hides a message for 12 hours at most, counted from its receipt. A minute is spare. */
export const longestHiddenMs = 12 * 3_600_000 - 60_000;

/** SQS counts attributes. This room is for ours, with the reason and error of a dead letter. */
const attributeBytes = 4_096;
export const maxBodyBytes = 1_048_576 - attributeBytes;
