/** Loaded with the first limit. */

export { enter, leave } from './gates.ts';
export { leaveLines, lookingAtLines } from './lines.ts';
export { park } from './pause.ts';
export { promoteOwed } from './wake.ts';
