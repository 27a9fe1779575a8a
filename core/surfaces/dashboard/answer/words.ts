/** What a browser shows where the page cannot be: a few words, and nothing that is run or loaded. */

import type { Refusal } from '../../http/problem.ts';
import { apiHeaders } from './headers.ts';

export function wordsOf({ status, message, headers }: Refusal): Response {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Longshore</title>
<h1>${titles[status] ?? 'The dashboard cannot be shown'}</h1>
<p>${escaped(message)}</p>
</html>
`;
  return new Response(html, {
    status,
    headers: { ...apiHeaders, ...headers, 'content-type': 'text/html; charset=utf-8' },
  });
}

const titles: Readonly<Record<number, string>> = {
  401: 'You are not signed in here',
  403: 'This is not let in',
  404: 'Nothing is here',
  410: 'This link is over',
};

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => entities[one]!);
