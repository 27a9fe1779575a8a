/** The shop's own small database. Every write can be repeated without a second effect, as a job may run twice. */

import { DatabaseSync } from 'node:sqlite';

export interface OrderRow {
  readonly orderNo: string;
  readonly customerNo: string;
  readonly name: string;
  readonly email: string;
  readonly city: string;
  readonly item: string;
  readonly quantity: number;
  readonly unitPriceCents: number;
  readonly orderedOn: string;
}

export interface RefusedRow {
  readonly line: number;
  readonly problem: string;
}

export interface ImportBatch {
  readonly importId: string;
  readonly tenantId: string;
  readonly rows: readonly OrderRow[];
  readonly refused: readonly RefusedRow[];
}

export interface ImportTotals {
  readonly imported: number;
  readonly refused: number;
}

export interface DaySales {
  readonly day: string;
  readonly orders: number;
  readonly cents: number;
}

type Maybe<Value> = Value | Promise<Value>;

/** What jobs need. */
export interface ShopDatabase {
  /** One transaction; rows that are already there are left alone and not counted again. */
  saveBatch(batch: ImportBatch): Maybe<ImportTotals>;
  /** Of all batches of one import. */
  importTotals(importId: string): Maybe<ImportTotals>;
  /** The first ones, by line. */
  refusedRows(importId: string, max: number): Maybe<RefusedRow[]>;
  order(orderNo: string): Maybe<OrderRow | null>;
  markPaid(orderNo: string): Maybe<void>;
  /** @param tenantId only of this one */
  salesByDay(tenantId?: string): Maybe<DaySales[]>;
}

/** A file on this machine. */
export interface LocalDatabase extends ShopDatabase {
  saveBatch(batch: ImportBatch): ImportTotals;
  importTotals(importId: string): ImportTotals;
  countOrders(importId: string): number;
  isPaid(orderNo: string): boolean;
  close(): void;
}

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS customers (
    customer_no TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL, city TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS orders (
    order_no TEXT PRIMARY KEY, customer_no TEXT NOT NULL REFERENCES customers, import_id TEXT NOT NULL,
    item TEXT NOT NULL, quantity INTEGER NOT NULL, unit_price_cents INTEGER NOT NULL,
    ordered_on TEXT NOT NULL, paid INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS refused_rows (
    import_id TEXT NOT NULL, line INTEGER NOT NULL, problem TEXT NOT NULL, PRIMARY KEY (import_id, line)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS imports (
    import_id TEXT PRIMARY KEY, imported INTEGER NOT NULL, refused INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

export function openDatabase(path: string): LocalDatabase {
  const db = new DatabaseSync(path);
  db.exec(schema);
  const addCustomer = db.prepare(
    `INSERT INTO customers VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET name = excluded.name, email = excluded.email, city = excluded.city`,
  );
  const addOrder = db.prepare(
    `INSERT INTO orders (order_no, customer_no, import_id, item, quantity, unit_price_cents, ordered_on)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const addRefused = db.prepare('INSERT INTO refused_rows VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const addTotals = db.prepare(
    `INSERT INTO imports VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET imported = imported + excluded.imported, refused = refused + excluded.refused`,
  );
  const totals = db.prepare('SELECT imported, refused FROM imports WHERE import_id = ?');
  const findRefused = db.prepare(
    'SELECT line, problem FROM refused_rows WHERE import_id = ? ORDER BY line LIMIT ?',
  );
  const count = db.prepare('SELECT count(*) AS n FROM orders WHERE import_id = ?');
  const findOrder = db.prepare(
    `SELECT order_no AS orderNo, customer_no AS customerNo, name, email, city, item, quantity,
            unit_price_cents AS unitPriceCents, ordered_on AS orderedOn
     FROM orders JOIN customers USING (customer_no) WHERE order_no = ?`,
  );
  const pay = db.prepare('UPDATE orders SET paid = 1 WHERE order_no = ?');
  const paid = db.prepare('SELECT paid FROM orders WHERE order_no = ?');
  const sales = db.prepare(
    `SELECT ordered_on AS day, count(*) AS orders, sum(quantity * unit_price_cents) AS cents
     FROM orders JOIN customers USING (customer_no)
     WHERE ?1 IS NULL OR tenant_id = ?1 GROUP BY ordered_on ORDER BY ordered_on`,
  );

  function write({ importId, tenantId, rows, refused }: ImportBatch): ImportTotals {
    let imported = 0;
    let newlyRefused = 0;
    for (const row of rows) {
      addCustomer.run(row.customerNo, tenantId, row.name, row.email, row.city);
      const { orderNo, customerNo, item, quantity, unitPriceCents, orderedOn } = row;
      const result = addOrder.run(orderNo, customerNo, importId, item, quantity, unitPriceCents, orderedOn);
      imported += Number(result.changes);
    }
    for (const { line, problem } of refused) {
      newlyRefused += Number(addRefused.run(importId, line, problem).changes);
    }
    addTotals.run(importId, imported, newlyRefused);
    return { imported, refused: newlyRefused };
  }

  return {
    saveBatch(batch) {
      db.exec('BEGIN IMMEDIATE');
      try {
        const result = write(batch);
        db.exec('COMMIT');
        return result;
      } catch (error) {
        db.exec('ROLLBACK');
        throw error;
      }
    },
    importTotals(importId) {
      const row = totals.get(importId) as unknown as ImportTotals | undefined;
      return row ?? { imported: 0, refused: 0 };
    },
    refusedRows: (importId, max) => findRefused.all(importId, max) as unknown as RefusedRow[],
    countOrders: (importId) => (count.get(importId) as unknown as { n: number }).n,
    order: (orderNo) => (findOrder.get(orderNo) as unknown as OrderRow | undefined) ?? null,
    markPaid: (orderNo) => void pay.run(orderNo),
    isPaid: (orderNo) => paid.get(orderNo)?.paid === 1,
    salesByDay: (tenantId) => sales.all(tenantId ?? null) as unknown as DaySales[],
    close: () => db.close(),
  };
}
