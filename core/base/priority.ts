import { config, shown } from './errors.ts';

/** A lower number runs first. One level counts as much as one hour of waiting, so no job starves. */
export const priorities = { critical: 0, high: 2, normal: 5, low: 8 } as const;
export type Priority = keyof typeof priorities | number;

export function priorityOf(priority: Priority): number {
  const value = typeof priority === 'string' ? priorities[priority] : priority;
  if (Number.isInteger(value) && value >= 0 && value <= 9) return value;
  const names = Object.keys(priorities).join(', ');
  throw config(`A priority is an integer from 0 (first) to 9 or one of ${names}, got ${shown(priority)}.`);
}
