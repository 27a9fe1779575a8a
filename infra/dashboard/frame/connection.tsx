/** Shows whether the data is current. */

import { visibleLine } from '../data/format.ts';
import { live } from '../data/live.ts';
import { useStore } from '../data/store.ts';

export function ConnectionState() {
  const { connection: own, reason, live: now } = useStore(live);
  const missed = now?.unavailable;
  const connection = own === 'live' && missed ? 'silent' : own;
  const reasons = missed?.map(({ backend, message }) => `${backend} does not answer: ${message}`).join(' ');
  const words = {
    connecting: 'connecting',
    live: 'live',
    reconnecting: reason === null ? 'reconnecting' : `reconnecting: ${reason}`,
    // The page has the reasons: there is no room for them here.
    silent: missed
      ? missed.map(({ backend }) => `${backend} does not answer`).join(', ')
      : `backend does not answer: ${reason}`,
  }[connection];
  return (
    <span class={`connection ${connection}`} role="status" title={visibleLine(reasons ?? words)}>
      <span class="dot" aria-hidden="true" />
      <span class="words">{visibleLine(words)}</span>
    </span>
  );
}
