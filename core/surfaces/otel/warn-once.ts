import { toError } from '../../base/failure.ts';

/** Reports only the first error as a warning of the process, because the error repeats with every job. */
export function warnOnce(what: string): (error: unknown) => void {
  let isTold = false;
  return (error) => {
    if (isTold) return;
    isTold = true;
    process.emitWarning(`${what}: ${toError(error).message}`, { code: 'LONGSHORE_TELEMETRY' });
  };
}
