/** For what happened to an isolate: the place in our own files where the error was made is of no use. */
export function withoutStack(message: string): Error {
  const error = new Error(message);
  delete error.stack;
  return error;
}
