/** What a record keeps of a handler's output: a JSON text, read again. */
export type Kept<T> = T extends { toJSON(): infer Text }
  ? Kept<Text>
  : T extends Nothing
    ? null
    : T extends readonly unknown[]
      ? { [Index in keyof T]: Kept<T[Index]> }
      : T extends object
        ? { [Name in keyof T as T[Name] extends Nothing ? never : Name]: KeptMember<T[Name]> }
        : T;

/** An optional member stays optional, and is not `null`. */
type KeptMember<T> = undefined extends T ? Kept<Exclude<T, undefined>> | undefined : Kept<T>;

/** JSON has no text for it. */
// biome-ignore lint/suspicious/noConfusingVoidType: what a handler returns that returns nothing
type Nothing = undefined | void | symbol | ((...args: never[]) => unknown);
