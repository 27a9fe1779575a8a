/** The members that have a value: a flag that was not given leaves no member behind. */
export const given = <T extends object>(
  members: T,
): { readonly [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
