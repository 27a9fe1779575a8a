/**
 * Code that is loaded at its first use. A function's start is paid for by every cold call, so what a job that succeeds
 * does not need stays out of it: requests to AWS, HTTP, schedules, dead letters.
 */
export function onDemand<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return () => {
    loading ??= load().catch((error) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}
