import { securityHeaders } from '../../http/headers.ts';

/** The page runs its own files and nothing else: no inline code, no other site, no frame around it. */
const pagePolicy = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'connect-src'].map((name) => `${name} 'self'`),
  "img-src 'self' data:",
  ...['frame-ancestors', 'base-uri', 'form-action'].map((name) => `${name} 'none'`),
].join('; ');

export const apiHeaders: Readonly<Record<string, string>> = securityHeaders;

export const pageHeaders: Readonly<Record<string, string>> = {
  ...securityHeaders,
  'content-security-policy': pagePolicy,
  'cross-origin-opener-policy': 'same-origin',
};
