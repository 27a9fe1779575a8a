/** How a job ended. The table `dead` holds the failed and the expired, `history` the others. */
export const Ended = { completed: 2, failed: 3, cancelled: 4, expired: 5 } as const;
