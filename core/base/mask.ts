/** Hides values that look like secrets, for logs and for views of a job. */

const secretName =
  /pass(word|wd|phrase)?$|pwd|secret|token|jwt|bearer|csrf|otp$|dsn$|(api|private|access)[-_]?key|connection[-_]?string|session[-_]?id|authorization|cookie|credential|^pin$|^cvv$/i;

/** Removes credentials from addresses: drivers often repeat the address in their messages. */
export const withoutCredentials = (text: string): string => text.replace(/(:\/\/)[^\s/@]+@/g, '$1***@');

/** Replaces a hidden value. */
export const maskedSign = '[masked]';

/** Whether to hide the value of a member with this name. */
export const isSecret = (name: string): boolean => secretName.test(name);

/** The value that `JSON.stringify` would print. */
function jsonOf(value: object): unknown {
  try {
    return 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;
  } catch {
    return '[unreadable]';
  }
}

/** A getter that throws must not lose the rest of the log line. */
function membersOf(value: object): [string, unknown][] {
  return Object.keys(value).map((name) => {
    try {
      return [name, value[name as keyof typeof value]];
    } catch {
      return [name, '[unreadable]'];
    }
  });
}

/** A copy in which values under secret-looking names are `[masked]` and values deeper than `levels` are `[deep]`. Bytes are only counted. */
export function masked(value: unknown, levels = 6): unknown {
  if (typeof value === 'bigint') return String(value); // JSON has no bigint
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => masked(item, levels - 1));
  if (value instanceof Error) return value.message;
  // Otherwise each byte would be a member; a file has millions.
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
