/** What is loaded with the first chain. */

export { handOn } from './hand-on.ts';
export { chainsOf } from './manage.ts';
export { sendChain } from './send.ts';
export { linkBefore } from './view.ts';
