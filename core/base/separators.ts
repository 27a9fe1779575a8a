/** JSON may escape them. Not every store takes them as they are: Azurite refuses a transaction that has one. */
export const withoutSeparators = (json: string): string =>
  json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
