import { toError } from '../../base/failure.ts';

/** An error here repeats with every job, so only the first one is a warning of the process. */
export function warnOnce(what: string): (error: unknown) => void {
  let isTold = false;
  return (error) => {
    if (isTold) return;
    isTold = true;
    process.emitWarning(`${what}: ${toError(error).message}`, { code: 'LONGSHORE_TELEMETRY' });
  };
}
