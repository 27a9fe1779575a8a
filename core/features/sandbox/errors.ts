/** For errors about an isolate: a stack of our own files would not help the user. */
export function withoutStack(message: string): Error {
  const error = new Error(message);
  delete error.stack;
  return error;
}
