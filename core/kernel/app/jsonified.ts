/** The type of a handler's output after a round trip through JSON. */
export type Jsonified<T> = T extends { toJSON(): infer Text }
  ? Jsonified<Text>
  : T extends Nothing
    ? null
    : T extends readonly unknown[]
      ? { [Index in keyof T]: Jsonified<T[Index]> }
      : T extends object
        ? { [Name in keyof T as T[Name] extends Nothing ? never : Name]: JsonifiedMember<T[Name]> }
        : T;

/** An optional member stays optional; it does not become `null`. */
type JsonifiedMember<T> = undefined extends T ? Jsonified<Exclude<T, undefined>> | undefined : Jsonified<T>;

/** Values that JSON leaves out. */
// biome-ignore lint/suspicious/noConfusingVoidType: the return type of a handler that returns nothing
type Nothing = undefined | void | symbol | ((...args: never[]) => unknown);
