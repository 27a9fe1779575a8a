/** How much room a text takes on a terminal. Chinese letters and emoji take two columns, marks above a letter none. */

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const simple = /^[\u0020-\u007e\u00a0-\u02ff]*$/;

const widthOf = (grapheme: string): number => (wide.test(grapheme) ? 2 : /^\p{M}/u.test(grapheme) ? 0 : 1);

export function columnsOf(text: string): number {
  if (simple.test(text)) return text.length;
  let sum = 0;
  for (const { segment } of graphemes.segment(text)) sum += widthOf(segment);
  return sum;
}

/** As much of a text as fits, with `…` where something is missing. */
export function cutTo(text: string, room: number): string {
  if (columnsOf(text) <= room) return text;
  if (room < 1) return '';
  let [kept, left] = ['', room - 1];
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

export const padTo = (text: string, room: number, side: 'left' | 'right'): string => {
  const spaces = ' '.repeat(Math.max(0, room - columnsOf(text)));
  return side === 'left' ? spaces + text : text + spaces;
};

/** Broken between words. A word that is longer than a line, such as an id or an address, stays whole. @param first room of the first line */
export function wrapped(text: string, room: number, first = room): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/ +/)) {
    if (line !== '' && columnsOf(line) + 1 + columnsOf(word) > (lines.length === 0 ? first : room)) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Sentences that are longer than a line are broken; what has columns or colours stays as it was made. @param width `null` = no terminal */
export function fitted(text: string, width: number | null): string {
  if (width === null) return text;
  const isSentence = (line: string): boolean =>
    columnsOf(line) > width && !line.includes('  ') && !line.includes('\u001b');
  return text
    .split('\n')
    .map((line) => (isSentence(line) ? wrapped(line, width).join('\n') : line))
    .join('\n');
}
