/**
 * A thread of a process isolate. If the worker's process is killed, its isolates must end, too. An isolate whose event loop is
 * blocked cannot see that its parent is gone, but this thread can: it kills the whole process group.
 */

const parent = Number(process.argv[2]);
const lookMs = 500;

function look(): void {
  if (process.ppid === parent) return;
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.kill(process.pid, 'SIGKILL'); // no process groups on this platform
  }
}

look();
setInterval(look, lookMs);
