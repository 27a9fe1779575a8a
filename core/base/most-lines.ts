/** So many of the last lines that handlers have logged are kept of an attempt, and of a job. */
export const mostLines = 20;
