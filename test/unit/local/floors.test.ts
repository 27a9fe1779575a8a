import { describe, expect, it } from 'vitest';
import { createFloors, fewPages } from '../../../local/backends/postgres/front.ts';

const queues = ['a', 'b'];

function floorsAt() {
  let now = 0;
  const floors = createFloors(() => now);
  return {
    floors,
    advance: (ms: number) => {
      now += ms;
    },
    /** A fetch, after which the database says this. */
    fetch(floor: string | null, pages: number): string | null {
      const used = floors.use(queues);
      floors.learn(queues, used, floor, pages);
      return used.floor;
    },
  };
}

describe('The floor of a fetch', () => {
  it('is not used while whole scans are cheap', () => {
    const { fetch } = floorsAt();
    fetch('{1,1,2}', fewPages);
    expect(fetch('{2,2,2}', fewPages)).toBeNull();
  });

  it('counts for half a millisecond per page, and for a second at most, until a fetch looks below it', () => {
    const { fetch, advance } = floorsAt();
    fetch('{1,1,2}', 100);
    advance(49);
    expect(fetch('{2,2,2}', 1)).toBe('{1,1,2}');
    advance(1);
    expect(fetch('{3,3,2}', 100_000)).toBe('{2,2,2,1}');
    advance(999);
    expect(fetch('{4,4,2}', 1)).toBe('{3,3,2}');
    advance(1);
    expect(fetch('{5,5,2}', fewPages)).toBe('{4,4,2,1}');
    expect(fetch(null, 1)).toBeNull();
  });

  it('is kept for each list of queues', () => {
    const { floors, fetch } = floorsAt();
    fetch('{1,1,2}', 100);
    expect(floors.use(['a']).floor).toBeNull();
    expect(floors.use(queues).floor).toBe('{1,1,2}');
  });

  it('goes when the database has left jobs behind', () => {
    const { fetch } = floorsAt();
    fetch('{1,1,2}', 100);
    fetch(null, 1);
    expect(fetch(null, 1)).toBeNull();
  });

  it('is not taken from an answer that is older than another', () => {
    const { floors, fetch } = floorsAt();
    fetch('{1,1,2}', 100);
    const slow = floors.use(queues);
    fetch('{2,2,2}', 1);
    floors.learn(queues, slow, '{9,9,2}', 1);
    expect(floors.use(queues).floor).toBe('{2,2,2}');
  });

  it('ends early when a job may have landed below it', () => {
    const { floors, fetch, advance } = floorsAt();
    fetch('{1,1,2}', 2_000);
    floors.lookBack();
    advance(99);
    expect(floors.use(queues).floor).toBe('{1,1,2}');
    expect(floors.use(queues).leftMs()).toBe(1);
    advance(1);
    expect(floors.use(queues)).toMatchObject({ floor: '{1,1,2,1}', isDue: true });
    expect(floors.use(queues).leftMs()).toBeNull();
  });

  it('is not learned from a scan during which a job may have landed below it', () => {
    const { floors } = floorsAt();
    const used = floors.use(queues);
    floors.lookBack();
    floors.learn(queues, used, '{1,1,2}', 2_000);
    expect(floors.use(queues).floor).toBeNull();
  });
});
