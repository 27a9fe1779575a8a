import { toError } from '../../base/failure.ts';

/** What fails here fails with every job: the process is warned of the first time. */
export function warnOnce(what: string): (error: unknown) => void {
  let isTold = false;
  return (error) => {
    if (isTold) return;
    isTold = true;
    process.emitWarning(`${what}: ${toError(error).message}`, { code: 'LONGSHORE_TELEMETRY' });
  };
}
