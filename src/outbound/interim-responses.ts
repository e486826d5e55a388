import type { Socket } from 'node:net';

const LONGEST_INTERIM = 16_384;
const CONTINUE = /^HTTP\/1\.[01] 100[ \r]/;
const CONTINUE_BEGUN = /^H?T?T?P?\/?1?\.?[01]? ?1?0?0?$/;
const LONGEST_BEGINNING = 'HTTP/1.1 100'.length;

/**
 * Removes `100 Continue` responses from the data of a socket. A client must accept them without having asked for one
 * (RFC 9110, 15.2), but undici closes the connection. Returns a function to call before each request.
 */
export function skipContinue(socket: Socket): () => void {
  const read = socket.read.bind(socket);
  let held: Buffer | null = null;
  let atStart = true;
  socket.read = (size?: number) => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      if (!atStart || chunk === null) return chunk;
      const rest: Buffer | null = afterContinue(held === null ? chunk : Buffer.concat([held, chunk]));
      atStart = rest === null;
      if (rest !== null) {
        held = null;
        return rest;
      }
      held = held === null ? chunk : Buffer.concat([held, chunk]);
    }
  };
  return () => {
    atStart = true;
    held = null;
  };
}

/**
 * Returns the data after all `100 Continue` responses; null while it is undecided whether there is one, or if nothing
 * follows yet.
 */
function afterContinue(bytes: Buffer): Buffer | null {
  const start = bytes.toString('latin1', 0, LONGEST_BEGINNING + 1);
  if (start.length <= LONGEST_BEGINNING && CONTINUE_BEGUN.test(start)) return null;
  if (!CONTINUE.test(start) || bytes.length > LONGEST_INTERIM) return bytes;
  const end = bytes.indexOf('\r\n\r\n');
  return end === -1 || end + 4 === bytes.length ? null : afterContinue(bytes.subarray(end + 4));
}
