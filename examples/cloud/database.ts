/** The shop's database for many instances at once: a Postgres. Its tables are made with the first query. */

import type { Pool } from 'pg';
import type { ImportTotals, OrderRow, RefusedRow, ShopDatabase } from '../app/database.ts';

/** Instances that start together take turns. */
const schema = `
  SELECT pg_advisory_xact_lock(hashtext('shop'));
  CREATE SCHEMA IF NOT EXISTS shop;
  CREATE TABLE IF NOT EXISTS shop.customers (
    customer_no text PRIMARY KEY, tenant_id text NOT NULL, name text NOT NULL, email text NOT NULL, city text NOT NULL
  );
  CREATE TABLE IF NOT EXISTS shop.orders (
    order_no text PRIMARY KEY, customer_no text NOT NULL REFERENCES shop.customers, import_id text NOT NULL, item text NOT NULL,
    quantity integer NOT NULL, unit_price_cents integer NOT NULL, ordered_on text NOT NULL, paid boolean NOT NULL DEFAULT false
  );
  CREATE TABLE IF NOT EXISTS shop.refused_rows (
    import_id text, line integer, problem text NOT NULL, PRIMARY KEY (import_id, line)
  );`;

/** In the order of their keys, so that two batches with the same customers do not lock each other out. */
const save = `
  WITH given AS (
    SELECT * FROM jsonb_to_recordset($3::jsonb) AS row("orderNo" text, "customerNo" text, name text, email text, city text,
      item text, quantity integer, "unitPriceCents" integer, "orderedOn" text)
  ), customers AS (
    INSERT INTO shop.customers
    SELECT DISTINCT ON ("customerNo") "customerNo", $2, name, email, city FROM given ORDER BY "customerNo"
    ON CONFLICT (customer_no) DO UPDATE SET name = excluded.name, email = excluded.email, city = excluded.city
  ), orders AS (
    INSERT INTO shop.orders
    SELECT DISTINCT ON ("orderNo") "orderNo", "customerNo", $1, item, quantity, "unitPriceCents", "orderedOn" FROM given
    ORDER BY "orderNo" ON CONFLICT DO NOTHING RETURNING 1
  ), refused AS (
    INSERT INTO shop.refused_rows
    SELECT $1, line, problem FROM jsonb_to_recordset($4::jsonb) AS row(line integer, problem text)
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT (SELECT count(*) FROM orders)::integer AS imported, (SELECT count(*) FROM refused)::integer AS refused`;

/** Counted once, when an import has ended. */
const totals = `
  SELECT (SELECT count(*) FROM shop.orders WHERE import_id = $1)::integer AS imported,
    (SELECT count(*) FROM shop.refused_rows WHERE import_id = $1)::integer AS refused`;

const refusedRows = 'SELECT line, problem FROM shop.refused_rows WHERE import_id = $1 ORDER BY line LIMIT $2';

const find = `
  SELECT order_no AS "orderNo", customer_no AS "customerNo", name, email, city, item, quantity,
    unit_price_cents AS "unitPriceCents", ordered_on AS "orderedOn"
  FROM shop.orders JOIN shop.customers USING (customer_no) WHERE order_no = $1`;

const sales = `
  SELECT ordered_on AS day, count(*)::integer AS orders, sum(quantity * unit_price_cents)::double precision AS cents
  FROM shop.orders JOIN shop.customers USING (customer_no)
  WHERE $1::text IS NULL OR tenant_id = $1 GROUP BY ordered_on ORDER BY ordered_on`;

/** @param url read with the first query */
export function postgresDatabase(url: () => string): ShopDatabase & { close(): Promise<void> } {
  let opened: Promise<Pool> | null = null;

  async function open(): Promise<Pool> {
    const { default: pg } = await import('pg'); // loaded by the functions that run jobs
    const pool = new pg.Pool({ connectionString: url(), max: 2, connectionTimeoutMillis: 5_000 });
    pool.on('error', () => {}); // an idle connection has broken: the next query opens another one
    try {
      await pool.query(schema);
      return pool;
    } catch (error) {
      await pool.end();
      throw error;
    }
  }

  async function query<Row>(text: string, values: unknown[]): Promise<Row[]> {
    opened ??= open().catch((error) => {
      opened = null;
      throw error;
    });
    return (await (await opened).query(text, values)).rows as Row[];
  }

  return {
    async saveBatch({ importId, tenantId, rows, refused }) {
      const values = [importId, tenantId, JSON.stringify(rows), JSON.stringify(refused)];
      return (await query<ImportTotals>(save, values))[0]!;
    },
    importTotals: async (importId) => (await query<ImportTotals>(totals, [importId]))[0]!,
    refusedRows: (importId, max) => query<RefusedRow>(refusedRows, [importId, max]),
    order: async (orderNo) => (await query<OrderRow>(find, [orderNo]))[0] ?? null,
    markPaid: async (orderNo) =>
      void (await query('UPDATE shop.orders SET paid = true WHERE order_no = $1', [orderNo])),
    salesByDay: (tenantId) => query(sales, [tenantId ?? null]),
    close: async () => (await opened)?.end(),
  };
}
