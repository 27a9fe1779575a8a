/** Hides what looks like a secret, for logs and for what people are shown of a job. */

const secretName =
  /pass(word|wd|phrase)?$|pwd|secret|token|jwt|bearer|csrf|otp$|dsn$|(api|private|access)[-_]?key|connection[-_]?string|session[-_]?id|authorization|cookie|credential|^pin$|^cvv$/i;

/** Stands where people are not shown a value. */
export const maskedSign = '[masked]';

/** Whether the value of a member of this name is hidden. */
export const isSecret = (name: string): boolean => secretName.test(name);

/** The value that JSON.stringify would print. */
function jsonOf(value: object): unknown {
  try {
    return 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;
  } catch {
    return '[unreadable]';
  }
}

/** A getter may throw, and must not take the line with it in which it stands. */
function membersOf(value: object): [string, unknown][] {
  return Object.keys(value).map((name) => {
    try {
      return [name, value[name as keyof typeof value]];
    } catch {
      return [name, '[unreadable]'];
    }
  });
}

/** A copy in which every value under a secret-looking name reads `[masked]`, and what is nested deeper than `levels` reads `[deep]`. Bytes are counted. */
export function masked(value: unknown, levels = 6): unknown {
  if (typeof value === 'bigint') return String(value); // JSON knows none
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => masked(item, levels - 1));
  if (value instanceof Error) return value.message;
  // Each byte would be a member, and of a file there are millions.
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  const own = jsonOf(value);
  if (own !== value) return masked(own, levels - 1);
  return Object.fromEntries(
    membersOf(value).map(([name, member]) => [
      name,
      isSecret(name) ? maskedSign : masked(member, levels - 1),
    ]),
  );
}
