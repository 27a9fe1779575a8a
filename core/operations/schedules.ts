import { isName } from '../base/checks.ts';
import { scheduleNamed } from '../features/schedules/cursor.ts';
import type { EmitOptions } from '../kernel/app/durable.ts';
import type { StoredScheduleDefinition } from '../kernel/app/stored-schedule.ts';
import { keepsSchedules } from '../kernel/enqueue/backends.ts';
import { enqueuedEntry } from './jobs.ts';
import { change, type Subject } from './operation.ts';

/** In code, or made at run time. */
const schedule: Subject = {
  noun: 'schedule',
  parameter: 'name',
  text: 'name of a schedule',
  async check(client, name) {
    const isInCode = client.app.schedules.some((one) => one.name === name);
    if (!isInCode && !(keepsSchedules(client) && isName(name) && (await client.schedules.get(name))))
      scheduleNamed(client.app, name);
  },
};

export const schedules = {
  run: change({
    action: 'schedule.run',
    summary: 'Enqueue the job of a schedule now, beside its moments',
    subject: schedule,
    async run(client, name: string) {
      const inCode = client.app.schedules.find((one) => one.name === name);
      if (!inCode) return { id: await client.schedules.runNow(name) };
      const { job, payload } = inCode;
      // No moment's key: its own moment stays to be enqueued.
      const idempotencyKey = `schedule-run:${name}@${client.app.newId()}`;
      return client.enqueue(job, payload, { idempotencyKey, name });
    },
    entry: enqueuedEntry,
    returned: ({ id }) => id,
    done: (_, name) => `The job of ${name} is enqueued, beside its own moments.`,
  }),
  pause: change({
    action: 'schedule.pause',
    summary: 'Leave out the moments of a schedule until it is resumed',
    subject: schedule,
    run: (client, name: string) => client.schedules.pause(name),
    returned: () => {},
    done: (_, name) => `${name} is paused: moments that fall due meanwhile are left out.`,
    already: 'It was paused already.',
  }),
  resume: change({
    action: 'schedule.resume',
    summary: 'Let a paused schedule go on, with the first moment after now',
    subject: schedule,
    run: (client, name: string) => client.schedules.resume(name),
    returned: () => {},
    done: (_, name) => `${name} goes on.`,
    already: 'It was not paused.',
  }),
  upsert: change({
    action: 'schedule.upsert',
    summary: 'Make a schedule at run time, or change one',
    // biome-ignore lint/suspicious/noExplicitAny: its job checks the payload
    run: (client, definition: StoredScheduleDefinition<any>) => client.schedules.upsert(definition),
    target: ([definition]) => String(definition?.name),
    entry: ({ timing, job }) => [1, `${timing}, job ${job}`],
    done: ({ name, timing, job }) => `${name} is stored: ${timing}, job ${job}.`,
  }),
  remove: change({
    action: 'schedule.remove',
    summary: 'Remove a schedule that was made at run time',
    subject: { ...schedule, check() {} },
    run: (client, name: string) => client.schedules.remove(name),
    done: (_, name) => `${name} is removed. Jobs that it has enqueued stay.`,
    already: 'There was none.',
  }),
};

export const events = {
  emit: change({
    action: 'event.emit',
    summary: 'Bring an event to the jobs that wait for it, each once',
    subject: {
      noun: 'event',
      parameter: 'name',
      text: 'name of an event',
      async check(_, event, __, options) {
        const { checkEvent } = await import('../features/steps/emit.ts');
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
