/** Times, and how long ago they were. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ago, moment } from '../data/format.ts';
import { serverNow } from '../data/live.ts';

function Time({ at, children }: { at: number; children: ComponentChildren }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={`${moment(at)} here, ${moment(at, 'UTC')} UTC`}>
      {children}
    </time>
  );
}

export const Moment = ({ at, zone }: { at: number; zone?: string }) => (
  <Time at={at}>{moment(at, zone)}</Time>
);

/** Updates while it is shown. */
export function Ago({ at }: { at: number }) {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    setNow(serverNow());
    const timer = setInterval(() => setNow(serverNow()), 1_000);
    return () => clearInterval(timer);
  }, [at]);
  return <Time at={at}>{ago(at, now)}</Time>;
}

/** The time, and how long ago it was. */
export const MomentAgo = ({ at }: { at: number }) => (
  <>
    <Moment at={at} /> (<Ago at={at} />)
  </>
);
