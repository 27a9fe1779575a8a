import { PrismaPg } from '@prisma/adapter-pg';
import { afterAll, afterEach } from 'vitest';
import { prismaTx } from '../../../local/backends/postgres/adapters.ts';
import { describeAdapter } from './adapters-laws.ts';
import { openPrisma } from './prisma-client.ts';
import { createStage } from './transactions-kit.ts';

const stage = await createStage();
const prisma = openPrisma(new PrismaPg({ connectionString: stage.url }));
afterEach(() => stage.clear());
afterAll(async () => {
  await prisma.$disconnect();
  await stage.drop();
});

describeAdapter('prismaTx', stage, {
  transaction: (work) =>
    prisma.$transaction((tx) =>
      work({ tx: prismaTx(tx), run: (text) => tx.$executeRawUnsafe(text), nested: null }),
    ),
  outside: () => prismaTx(prisma),
});
