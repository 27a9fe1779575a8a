import { scheduleInCode } from '../features/schedules/history.ts';
import type { GuardedSchedules } from '../features/schedules/stored/verbs.ts';
import { checkEvent } from '../features/steps/emit.ts';
import type { EmitOptions } from '../kernel/app/durable.ts';
import type { StoredScheduleDefinition } from '../kernel/app/stored-schedule.ts';
import { eachOf, isOn } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { askEach, joined, keepersOf, orFirst } from '../routing/each.ts';
import { type PageRequest, sortedOf } from '../routing/pages.ts';
import { enqueuedEntry } from './jobs.ts';
import { change, look } from './operation.ts';
import { schedule, scheduleDefinition } from './resources.ts';
import { list, named, object, orNull, ref, text, unavailable } from './shapes.ts';

/** Is called with the existing schedule before any change, and may throw. */
type Guard = Parameters<GuardedSchedules['pause']>[1];
const guarded = (client: Client) => client.schedules as GuardedSchedules;

export const schedules = {
  list: look({
    summary: 'Schedules by name, page by page',
    async run(client, page: PageRequest = {}) {
      const keepers = keepersOf(eachOf(client), ({ stores }) => stores.schedules);
      const pageOf = async (one: Client) => {
        const { schedules, next } = await one.schedules.list(page);
        return { rows: schedules, next };
      };
      const { rows: schedules, ...rest } = await sortedOf(
        orFirst(client, keepers),
        pageOf,
        ({ name }) => name,
        page.max,
      );
      return { schedules, ...rest };
    },
    http: {
      route: 'GET /schedules',
      operationId: 'listSchedules',
      query: {
        max: { kind: 'integer', least: 1, most: 1_000, text: 'At most this many' },
        after: { kind: 'text', text: 'The `next` of the page before' },
      },
      resource: schedule,
      description: 'A page; fewer than `max` need not be the last',
      list: 'schedules',
      answer: {
        shape: named(
          'SchedulePage',
          object({ schedules: list(ref('Schedule')), next: orNull(text), unavailable }, ['unavailable']),
        ),
      },
    },
  }),
  inCode: look({
    summary: 'Schedules in code, with their last runs',
    async run(client) {
      const ownOf = (one: Client) => client.app.schedules.filter(({ job }) => isOn(one, job));
      const homes = eachOf(client).filter((one) => ownOf(one).length > 0);
      const { answers, ...missed } = await askEach(homes, (one) =>
        Promise.all(ownOf(one).map((schedule) => scheduleInCode(one, schedule))),
      );
      return { schedules: joined({ answers }), ...missed };
    },
  }),
  get: look({
    summary: 'A schedule',
    subject: schedule,
    run: (client, name: string) => client.schedules.get(name),
    http: { route: 'GET /schedules/{name}', operationId: 'getSchedule' },
  }),
  run: change({
    action: 'schedule.run',
    summary: 'Enqueue the job of a schedule now, in addition to its scheduled runs',
    subject: schedule,
    async run(client, name: string) {
      const inCode = client.app.schedules.find((one) => one.name === name);
      if (!inCode) return { id: await client.schedules.runNow(name) };
      const { job, payload } = inCode;
      // Not the key of a run that is due, so the scheduled run is still enqueued.
      const idempotencyKey = `schedule-run:${name}@${client.app.newId()}`;
      return client.enqueue(job, payload, { idempotencyKey, name });
    },
    http: {
      route: 'POST /schedules/{name}/run',
      operationId: 'runSchedule',
      description: 'Stored; a worker runs it',
      errors: [413, 422],
      answer: {
        shape: named(null, object({ id: text, statusUrl: text })),
        status: 202,
        of: ({ id }, _, basePath) => ({ id, statusUrl: `${basePath}/jobs/${id}` }),
      },
    },
    entry: enqueuedEntry,
    returned: ({ id }) => id,
    done: (_, name) => `The job of ${name} is enqueued. Its scheduled runs do not change.`,
  }),
  pause: change({
    action: 'schedule.pause',
    summary: 'Pause a schedule: runs that fall due are skipped until it is resumed',
    subject: schedule,
    run: (client, name: string, guard?: Guard) => guarded(client).pause(name, guard),
    http: {
      route: 'POST /schedules/{name}/pause',
      operationId: 'pauseSchedule',
      description: 'The schedule as it is then',
      errors: [409],
    },
    done: (_, name) => `${name} is paused: runs that fall due meanwhile are skipped.`,
    already: 'It was already paused.',
  }),
  resume: change({
    action: 'schedule.resume',
    summary: 'Resume a paused schedule; the next run is the first that is due after now',
    subject: schedule,
    run: (client, name: string, guard?: Guard) => guarded(client).resume(name, guard),
    http: {
      route: 'POST /schedules/{name}/resume',
      operationId: 'resumeSchedule',
      description: 'The schedule as it is then',
      errors: [409],
    },
    done: (_, name) => `${name} goes on.`,
    already: 'It was not paused.',
  }),
  upsert: change({
    action: 'schedule.upsert',
    summary: 'Create or replace a schedule; members that are left out get their defaults',
    // biome-ignore lint/suspicious/noExplicitAny: its job checks the payload
    run: (client, definition: StoredScheduleDefinition<any>, guard?: Guard) =>
      guarded(client).upsert(definition, guard),
    http: {
      route: 'PUT /schedules/{name}',
      operationId: 'putSchedule',
      resource: schedule,
      description: 'Changed',
      errors: [409],
      body: scheduleDefinition,
      creates: true,
    },
    target: ([definition]) => String(definition?.name),
    entry: ({ timing, job }) => [1, `${timing}, job ${job}`],
    done: ({ name, timing, job }) => `${name} is stored: ${timing}, job ${job}.`,
  }),
  remove: change({
    action: 'schedule.remove',
    summary: 'Remove a schedule; jobs that it has enqueued stay',
    subject: { ...schedule, check() {} },
    run: (client, name: string) => client.schedules.remove(name),
    http: {
      route: 'DELETE /schedules/{name}',
      operationId: 'removeSchedule',
      description: 'Removed',
      answer: {
        shape: named(null, object({ name: text, removed: { const: true } })),
        of: (_, name) => ({ name, removed: true }),
      },
    },
    done: (_, name) => `${name} is removed. Jobs that it has enqueued stay.`,
    already: 'There was none.',
  }),
};

export const events = {
  emit: change({
    action: 'event.emit',
    summary: 'Send an event to the jobs that wait for it, each once',
    subject: {
      noun: 'event',
      parameter: 'name',
      text: 'name of an event',
      async check(_, event, __, options) {
        checkEvent(event, (options as EmitOptions | undefined)?.key ?? null);
      },
    },
    run: (client, event: string, payload?: unknown, options?: EmitOptions) =>
      client.emit(event, payload, options),
    target: ([event, , { key = null } = {}]) =>
      key === null ? event : `${event} with key ${JSON.stringify(key)}`,
    done: (reached) => `${reached} ${reached === 1 ? 'job' : 'jobs'} got it.`,
  }),
};
