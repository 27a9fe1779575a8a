/** Code that is loaded once, on first use. So a process starts with only what most jobs need. */

/** Calls `use` with the loaded code. If it is loaded already, the call is synchronous: a promise would cost three more microtasks. */
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

/** The same for a value instead of code. */
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

/** An object whose methods first load the real object. */
export function verbsOf<T>(names: readonly (keyof T & string)[], load: () => Promise<T>): T {
  const open = door(load);
  const verbs = names.map((name) => [
    name,
    async (...call: unknown[]) => open((real) => (real[name] as Verb)(...call)),
  ]);
  return Object.fromEntries(verbs) as T;
}
