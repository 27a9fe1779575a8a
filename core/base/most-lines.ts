/** How many log lines are kept per attempt and per job: the last ones. */
export const mostLines = 20;
