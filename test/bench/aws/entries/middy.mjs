import middy from '@middy/core';
import sqsPartialBatchFailure from '@middy/sqs-partial-batch-failure';

const run = async (event) => Promise.allSettled(event.Records.map(async () => null));
export const worker = middy(run).use(sqsPartialBatchFailure());
