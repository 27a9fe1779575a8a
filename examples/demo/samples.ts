/** Things to work on: an order export with quirks, some orders of yesterday, pictures. Always the same ones. */

import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import sharp from 'sharp';
import type { OrderRow } from '../app/database.ts';

// With umlauts, commas, quotes and a line break, as real exports have them: bytes, characters and lines all differ.
const names = [
  'Ada Ash',
  'Björn Öst',
  'Chen, Li',
  'Dana "Dee" Roe',
  'Émile\nZéro',
  'Fatima Noor',
  'Gus Hill',
];
const cities = ['Hamburg', 'Malmö', 'Rotterdam', 'Gdańsk', 'Porto'];
const items = ['rope, 10 m', 'brass lamp', 'oilskin coat', 'deck brush', 'tea mug'];

const pick = <T>(list: readonly T[], i: number): T => list[i % list.length]!;
const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function sampleOrder(prefix: string, i: number): OrderRow {
  const customer = i % 2500; // customers come back, so the import has to update as well as insert
  return {
    orderNo: `${prefix}-${1001 + i}`,
    customerNo: `${prefix}${customer}`,
    name: pick(names, customer),
    email: `customer${customer}@${prefix.toLowerCase()}.example`,
    city: pick(cities, customer),
    item: pick(items, i),
    quantity: 1 + (i % 9),
    unitPriceCents: 250 + ((i * 37) % 5000),
    orderedOn: `2026-0${1 + (i % 9)}-${10 + (i % 19)}`,
  };
}

/** Orders that are already in the shop, to be invoiced. */
export function yesterdaysOrders(count: number): OrderRow[] {
  return Array.from({ length: count }, (_, i) => sampleOrder('H', i));
}

const header = 'order_no,customer_no,name,email,city,item,quantity,unit_price_cents,ordered_on';

/** Three lines that no import should take: a bad address, a bad number, too few columns. */
export const brokenLines = [
  'X-1,X1,No Mail,not-an-address,Nowhere,tea mug,1,500,2026-01-01',
  'X-2,X2,No Number,nn@x.example,Nowhere,tea mug,many,500,2026-01-01',
  'X-3,X3,Short',
];

/** Writes `rows` good rows and the broken ones, at about a fifth, half and the end. */
export async function writeOrdersCsv(path: string, rows: number): Promise<void> {
  const brokenAfter = [Math.ceil(rows / 5), Math.ceil(rows / 2), rows];
  function* pieces(): Generator<string> {
    let piece = `${header}\n`;
    for (let i = 0; i < rows; i++) {
      const o = sampleOrder('C', i);
      piece += `${o.orderNo},${o.customerNo},${quoted(o.name)},${o.email},${o.city},${quoted(o.item)},${o.quantity},${o.unitPriceCents},${o.orderedOn}\n`;
      brokenAfter.forEach((after, k) => {
        if (after === i + 1) piece += `${brokenLines[k]}\n`;
      });
      if (piece.length > 65_536 || i === rows - 1) {
        yield piece;
        piece = '';
      }
    }
  }
  await pipeline(Readable.from(pieces()), createWriteStream(path));
}

/** Pictures of a sea at different times of day, 1600 × 1000. */
export async function writePictures(folder: string, count: number): Promise<string[]> {
  const files = Array.from({ length: count }, (_, i) => `harbour-${i + 1}.png`);
  await Promise.all(
    files.map((file, i) => {
      const hue = 190 + i * 20;
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="1000">
        <defs><linearGradient id="sky" x2="0" y2="1"><stop stop-color="hsl(${hue},60%,35%)"/>
        <stop offset="1" stop-color="hsl(${hue + 40},80%,80%)"/></linearGradient></defs>
        <rect width="1600" height="1000" fill="url(#sky)"/><circle cx="${200 + i * 170}" cy="420" r="110" fill="#fff3c4"/>
        <path d="M0 640 Q400 580 800 640 T1600 640 V1000 H0Z" fill="hsl(${hue},55%,28%)"/>
        <path d="M620 600 l60 90 h240 l60 -90 z" fill="#2b2b33"/><rect x="790" y="340" width="14" height="260" fill="#2b2b33"/>
        <path d="M804 350 l150 230 h-150z" fill="#f6f2e8"/></svg>`;
      return sharp(Buffer.from(svg)).png({ compressionLevel: 3 }).toFile(join(folder, file));
    }),
  );
  return files;
}

/** The sun crosses the sky in 320 x 200. Returns the file's name. */
export async function writeClip(folder: string, frames: number): Promise<string> {
  const pictures = Array.from({ length: frames }, (_, i) =>
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200">
      <rect width="320" height="200" fill="hsl(${200 + i * 2},50%,35%)"/>
      <circle cx="${20 + (i * 280) / frames}" cy="80" r="20" fill="#fff3c4"/>
      <path d="M0 140 Q80 128 160 140 T320 140 V200 H0Z" fill="#123"/></svg>`),
  );
  const file = 'harbour.webp';
  const clip = sharp(pictures, { join: { animated: true } });
  await clip.webp({ delay: Array(frames).fill(80), effort: 0 }).toFile(join(folder, file));
  return file;
}
