/** Cuts a text to so many UTF-8 bytes, never in the middle of a character. */
export function cutText(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
