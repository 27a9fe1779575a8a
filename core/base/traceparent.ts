/** The header of W3C Trace Context. */

export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** The lowest bit says that the trace is sampled. */
  readonly traceFlags: number;
}

const pattern =
  /^(?<version>[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;

/** `null` for an invalid header, which must be ignored (§3.2). */
export function readTraceparent(text: string): TraceParent | null {
  const { version, traceId, spanId, flags, rest } = pattern.exec(text)?.groups ?? {};
  if (version === undefined || text.length > 256) return null;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (!/[^0]/.test(traceId!) || !/[^0]/.test(spanId!)) return null;
  return { traceId: traceId!, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) };
}

export function writeTraceparent({ traceId, spanId, traceFlags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
}
