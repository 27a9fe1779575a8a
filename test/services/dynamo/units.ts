/**
 * Counts the request units of a table of `dynamoStore()` by AWS's rules, from the requests and sizes of items: the server of the tests (dynalite)
 * counts none for indexes. All writes to the table must go through the client.
 */

import { type AttributeValue, type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';

type Item = Record<string, AttributeValue>;
export interface Units {
  readonly write: number;
  readonly read: number;
}

const projected = ['pk', 'shelf', 'place', 'queue', 'job', 'finishedAt', 'guardedUntil'];

/** Bytes of names and texts; a number takes a byte per two digits, and one more. */
function bytesOf(item: Item): number {
  let bytes = 0;
  for (const [name, { S, N = '' }] of Object.entries(item))
    bytes += Buffer.byteLength(name) + (S === undefined ? Math.ceil(N.length / 2) + 1 : Buffer.byteLength(S));
  return bytes;
}
const unitsOf = (item: Item | undefined, bytes: number): number =>
  Math.max(1, Math.ceil(bytesOf(item ?? {}) / bytes));
const writeUnits = (item: Item | undefined): number => unitsOf(item, 1_024);

function entryOf(item: Item | undefined): Item | undefined {
  if (!item?.shelf) return undefined;
  return Object.fromEntries(Object.entries(item).filter(([name]) => projected.includes(name)));
}

function indexUnits(before: Item | undefined, after: Item | undefined): number {
  const [old, next] = [entryOf(before), entryOf(after)];
  if (!old || !next) return old || next ? writeUnits(old ?? next) : 0;
  if (old.shelf!.S !== next.shelf!.S || old.place!.S !== next.place!.S)
    return writeUnits(old) + writeUnits(next);
  const isSame = projected.every((name) => JSON.stringify(old[name]) === JSON.stringify(next[name]));
  return isSame ? 0 : Math.max(writeUnits(old), writeUnits(next));
}

interface Input {
  readonly TableName: string;
  readonly Item?: Item;
  readonly Key?: Item;
  readonly RequestItems?: Record<string, { readonly Keys: readonly Item[] }>;
}
interface Output {
  readonly Item?: Item;
  readonly Responses?: Record<string, readonly Item[]>;
}

/** @param peek another client of the same server. Returns a function that tells the units since its last call */
export function meterUnits(client: DynamoDBClient, peek: DynamoDBClient): () => Units {
  let units: Units = { write: 0, read: 0 };
  const spend = (write: number, read = 0) => {
    units = { write: units.write + write, read: units.read + read };
  };
  async function itemOf(TableName: string, pk: AttributeValue): Promise<Item | undefined> {
    const answer = await peek.send(new GetItemCommand({ TableName, Key: { pk }, ConsistentRead: true }));
    return answer.Item;
  }
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const input = args.input as unknown as Input;
        const pk = (input.Item ?? input.Key)?.pk;
        const isWrite = commandName === 'PutItemCommand' || commandName === 'DeleteItemCommand';
        const before = isWrite ? await itemOf(input.TableName, pk!) : undefined;
        try {
          const answer = await next(args);
          const output = answer.output as unknown as Output;
          if (isWrite)
            spend(Math.max(writeUnits(before), writeUnits(input.Item)) + indexUnits(before, input.Item));
          else if (commandName === 'GetItemCommand') spend(0, unitsOf(output.Item, 4_096));
          else if (commandName === 'BatchGetItemCommand')
            for (const items of Object.values(output.Responses ?? {}))
              for (const item of items) spend(0, unitsOf(item, 4_096));
          return answer;
        } catch (error) {
          // A condition that does not hold costs as much as the item that is there.
          if ((error as Error).name === 'ConditionalCheckFailedException')
            spend(Math.max(writeUnits(before), writeUnits(input.Item)));
          throw error;
        }
      },
    { step: 'initialize', name: 'units' },
  );
  return () => {
    const spent = units;
    units = { write: 0, read: 0 };
    return spent;
  };
}
