/** How many of the last logged lines are kept of an attempt, and of a job. */
export const mostLines = 20;
