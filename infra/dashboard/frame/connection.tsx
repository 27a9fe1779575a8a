/** Shows whether the data is current. */

import { visibleLine } from '../data/format.ts';
import { live } from '../data/live.ts';
import { useStore } from '../data/store.ts';

export function ConnectionState() {
  const { connection: own, reason, live: now } = useStore(live);
  const missed = now?.unavailable?.map(({ backend, message }) => `${backend} does not answer: ${message}`);
  const connection = own === 'live' && missed ? 'silent' : own;
  const words = {
    connecting: 'connecting',
    live: 'live',
    reconnecting: reason === null ? 'reconnecting' : `reconnecting: ${reason}`,
    silent: missed?.join(' ') ?? `backend does not answer: ${reason}`,
  }[connection];
  return (
    <span class={`connection ${connection}`} role="status" title={visibleLine(words)}>
      <span class="dot" aria-hidden="true" />
      <span class="words">{visibleLine(words)}</span>
    </span>
  );
}
