/** Members of `ready` and `delayed` are a sort key and an id. Redis orders members of equal rank by their text, so by arrival. */

const arrivalLength = 11;
/** The digits before them change every 1.7 s, and are kept as text. */
const lowDigits = 4;
const lowEnd = 36 ** lowDigits;

/** Microseconds, so that processes agree about the order as far as their clocks do. */
let lastArrival = 0;
let high = -1;
let highText = '';

/** 12 characters: a counter of arrival, and the priority. */
export function nextSortKey(priority: number): string {
  lastArrival = Math.max(lastArrival + 1, Date.now() * 1000);
  const low = lastArrival % lowEnd;
  const first = (lastArrival - low) / lowEnd;
  if (first !== high) {
    high = first;
    highText = first.toString(36).padStart(arrivalLength - lowDigits, '0');
  }
  return highText + low.toString(36).padStart(lowDigits, '0') + priority;
}

/** Orders members of equal rank, also those of different queues. Takes a sort key as well. */
export const arrivalOf = (member: string): string => member.slice(0, arrivalLength);
export const priorityOf = (sortKey: string): number => Number(sortKey[arrivalLength]);
export const idOf = (member: string): string => member.slice(arrivalLength + 1);
