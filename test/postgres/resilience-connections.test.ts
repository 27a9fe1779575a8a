/** Single connections that are lost, and pools that have none to spare. */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  type Contract,
  connect,
  createApp,
  defineJob,
  fixed,
  keyRing,
  type LongshoreEvent,
  startWorker,
} from '../../core/index.ts';
import { openDatabase } from '../../local/backends/postgres/database.ts';
import { postgres } from '../../local/backends/postgres/index.ts';
import { createListener } from '../../local/backends/postgres/listen.ts';
import { message } from '../sqlite/messages.ts';
import { asSuperuser, terminate, until } from './load.ts';
import { startProxy } from './proxy.ts';
import { type Database, freshDatabase, superuserUrl } from './schemas.ts';
