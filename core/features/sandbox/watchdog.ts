/**
 * A thread of a process isolate. When the worker's process is killed its isolates must not go on, and one whose event
 * loop is blocked cannot see that its parent is gone. This thread can, and ends the whole process group.
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
