/** Writes data as YAML for people: short maps on one line, and what is the same by an anchor. */

export type Data = string | number | boolean | readonly Data[] | { readonly [name: string]: Data };
type Fields = { readonly [name: string]: Data };

interface Origin {
  /** The anchor of the shared fields. */
  readonly label: string;
  readonly shared: Fields;
  readonly own: Fields;
}

/** Where an object comes from, if it was made by a `kind`. */
const origins = new WeakMap<object, Origin>();
const labels = new WeakMap<object, string>();
const comments = new WeakMap<object, string>();

/** Makes objects that share fields. Where anchors are allowed, the shared fields are written once. */
export function kind(label: string, shared: Fields): (own: Fields) => Fields {
  return (own) => {
    const made = { ...shared, ...own };
    origins.set(made, { label, shared, own });
    return made;
  };
}

/** The value is written once, where anchors are allowed. */
export function once<Value extends object>(label: string, value: Value): Value {
  labels.set(value, label);
  return value;
}

/** Writes a comment above the value. */
export function commented<Value extends object>(text: string, value: Value): Value {
  comments.set(value, text);
  return value;
}

const widest = 110;

/** @param anchors whether the reader of the file knows anchors and merge keys */
export function yaml(document: Fields, { anchors }: { readonly anchors: boolean }): string {
  const written = new Set<string>();

  function block(value: Fields, indent: string): string[] {
    const lines: string[] = [];
    for (const [name, member] of Object.entries(value)) {
      const comment = typeof member === 'object' ? comments.get(member) : undefined;
      if (comment !== undefined) lines.push(`${indent}# ${comment}`);
      lines.push(...entry(`${indent}${key(name)}:`, member, `${indent}  `));
    }
    return lines;
  }

  /** @param start of its line @param indent of the lines beneath it */
  function entry(start: string, value: Data, indent: string): string[] {
    if (typeof value !== 'object' || tagged(value) !== null) return [`${start} ${scalar(value, false)}`];
    const origin = anchors ? origins.get(value) : undefined;
    if (origin) return [start, ...merged(origin, indent)];
    const label = anchors ? labels.get(value) : undefined;
    if (label !== undefined && written.has(label)) return [`${start} *${label}`];
    if (label !== undefined) written.add(label);
    const named = label === undefined ? start : `${start} &${label}`;
    const line = inline(value);
    if (line !== null && `${named} ${line}`.length <= widest) return [`${named} ${line}`];
    if (isList(value)) return [named, ...value.flatMap((item) => listed(item, indent))];
    return [named, ...block(value, indent)];
  }

  function merged({ label, shared, own }: Origin, indent: string): string[] {
    const first = !written.has(label);
    written.add(label);
    if (!first) return [`${indent}<<: *${label}`, ...block(own, indent)];
    const line = inline(shared);
    const start = `${indent}<<: &${label}`;
    const isShort = line !== null && `${start} ${line}`.length <= widest;
    const lines = isShort ? [`${start} ${line}`] : [start, ...block(shared, `${indent}  `)];
    return [...lines, ...block(own, indent)];
  }

  function listed(item: Data, indent: string): string[] {
    if (typeof item !== 'object' || tagged(item) !== null) return [`${indent}- ${scalar(item, false)}`];
    const line = inline(item);
    const isShort = line !== null && `${indent}- ${line}`.length <= widest;
    if (isShort || isList(item) || (anchors && labels.has(item)))
      return entry(`${indent}-`, item, `${indent}  `);
    const [first = '', ...rest] = block(item, `${indent}  `);
    return [`${indent}- ${first.trimStart()}`, ...rest];
  }

  return `${block(document, '').join('\n')}\n`;
}

const isList = (value: Data): value is readonly Data[] => Array.isArray(value);

/** The value in one line; `null` = it is too deep for that, or has an anchor or a comment. */
function inline(value: Data, depth = 0): string | null {
  if (typeof value !== 'object' || tagged(value) !== null) return scalar(value, true);
  if (depth > 0 && (labels.has(value) || origins.has(value) || comments.has(value))) return null;
  if (depth > 1) return null;
  const members = isList(value) ? value : Object.values(value);
  const texts = members.map((member) => inline(member, depth + 1));
  if (texts.includes(null)) return null;
  if (isList(value)) return `[${texts.join(', ')}]`;
  if (texts.length > 5 || texts.length === 0) return texts.length === 0 ? '{}' : null;
  return `{ ${Object.keys(value)
    .map((name, i) => `${key(name)}: ${texts[i]}`)
    .join(', ')} }`;
}

/** The functions of CloudFormation have a short form; `null` = another value. */
function tagged(value: Data): string | null {
  if (typeof value !== 'object' || isList(value)) return null;
  const [[name, of] = ['', ''], ...others] = Object.entries(value);
  if (others.length > 0) return null;
  if (name === 'Ref' && typeof of === 'string') return `!Ref ${of}`;
  if (name === 'Fn::GetAtt' && isList(of)) return `!GetAtt ${of.join('.')}`;
  if (name === 'Fn::Sub' && typeof of === 'string') return `!Sub ${quoted(of)}`;
  return null;
}

function scalar(value: Data, isFlow: boolean): string {
  if (typeof value === 'string') return plain(value, isFlow) ? value : quoted(value);
  return tagged(value) ?? String(value);
}

const key = (name: string): string => (/^[\w<][\w:.<-]*$/.test(name) ? name : quoted(name));

function plain(text: string, isFlow: boolean): boolean {
  if (!/^[A-Za-z$/.][\w ./:$@{}()*?+!=-]*$/.test(text) || /: |:$| #| $/.test(text)) return false;
  if (/^(true|false|null|yes|no|on|off|y|n)$/i.test(text)) return false;
  return !(isFlow && /[{}[\],]/.test(text));
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
