import type { DiagnosisRequest } from '../../../core/contract/diagnosis.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { Row } from './client.ts';
import type { Database } from './database.ts';

/** What the doctor knows of a database. */
export interface DiagnosedDatabase {
  readonly db: Database;
  /** Whose options are meant, like `postgres()`. */
  readonly caller: string;
  readonly retention: Retention;
  /** Where its workers listen; `null` = they do not. */
  readonly channel: string | null;
}

export interface PostgresFacts extends DiagnosedDatabase {
  readonly request: DiagnosisRequest;
  /** One statement that migrates nothing before it. */
  rows(text: string, values?: unknown[]): Promise<readonly Row[]>;
  setting(name: string): Promise<string>;
}
