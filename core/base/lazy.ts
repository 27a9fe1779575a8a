/** Code that is loaded when it is first needed, once. A process starts with no more than most jobs need. */

/** Calls `use` with what is loaded: at once when it is there, because a promise around that of `use` takes three more turns of the microtasks. */
export type Door<Code> = <Result>(use: (code: Code) => Result) => Result | Promise<Awaited<Result>>;

/** If loading fails, the next call tries again. */
export function door<Code>(load: () => Promise<Code>): Door<Code> {
  let code: Code | null = null;
  let loading: Promise<Code> | null = null;
  function open(): Promise<Code> {
    loading ??= load().then(
      (it) => {
        code = it;
        return it;
      },
      (error) => {
        loading = null;
        throw error;
      },
    );
    return loading;
  }
  return <Result>(use: (it: Code) => Result) =>
    code !== null ? use(code) : (open().then(use) as Promise<Awaited<Result>>);
}

/** The same for a value that is asked for. */
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

type Verb = (...call: unknown[]) => Promise<unknown>;

/** An object each of whose verbs first loads the real one. */
export function verbsOf<T>(names: readonly (keyof T & string)[], load: () => Promise<T>): T {
  const open = door(load);
  const verbs = names.map((name) => [
    name,
    async (...call: unknown[]) => open((real) => (real[name] as Verb)(...call)),
  ]);
  return Object.fromEntries(verbs) as T;
}
