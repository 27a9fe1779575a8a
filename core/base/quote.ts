const quotedNames = new Map<string, string>();
const mostNames = 1_000;

/** As JSON. For what a program has few of, such as names of jobs, queues and keys. */
export function quoted(name: string): string {
  let text = quotedNames.get(name);
  if (text === undefined) {
    if (quotedNames.size === mostNames) quotedNames.clear();
    text = JSON.stringify(name);
    quotedNames.set(name, text);
  }
  return text;
}
