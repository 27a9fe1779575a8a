/** What items say of moments and shelves; table.ts shows the table. */

export const partitionsPerStatus = 8;
export const partitionsPerStep = 8;

/** Sorts as text as the moment sorts as a number. */
export const sortKeyOf = (at: number, id = ''): string =>
  `${String(Math.max(0, at)).padStart(16, '0')}#${id}`;

/** DynamoDB wants whole seconds. Rounded up, so that nothing expires early. */
export const expiry = (at: number): number => Math.ceil(at / 1000);
