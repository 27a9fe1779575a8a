/** Names of settings and resources, as each kind of file writes them. */

/** `mail-high` → `MailHigh`, as ids of resources. */
export const idOf = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/** `SMTP_URL` → `smtp-url`, as secrets and buckets. */
export const kebab = (variable: string): string => variable.toLowerCase().replaceAll('_', '-');

/** `SMTP_URL` → `smtpUrl`, as parameters. */
export const camel = (variable: string): string =>
  variable.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
