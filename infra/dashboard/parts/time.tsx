/** Moments and how long ago they were. */

import { useEffect, useState } from 'preact/hooks';
import { ago, moment } from '../data/format.ts';
import { serverNow } from '../data/live.ts';

const titleOf = (at: number): string => `${moment(at)} here, ${moment(at, 'UTC')} UTC`;

export function Moment({ at, zone }: { at: number | null; zone?: string }) {
  if (at === null) return <span class="none">none</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={titleOf(at)}>
      {moment(at, zone)}
    </time>
  );
}

/** Counts on as long as it is shown. */
export function Ago({ at }: { at: number | null }) {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    setNow(serverNow());
    const timer = setInterval(() => setNow(serverNow()), 1_000);
    return () => clearInterval(timer);
  }, [at]);
  if (at === null) return <span class="none">none</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={titleOf(at)}>
      {ago(at, now)}
    </time>
  );
}
